"""Analysis of stored runs: points, intervals, comparisons, conclusions. Nothing here touches the running lab."""
