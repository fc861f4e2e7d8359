"""What stored runs say: points, intervals, comparisons, conclusions. Nothing here touches the running lab."""
