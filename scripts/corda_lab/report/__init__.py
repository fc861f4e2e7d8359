"""Pages, charts and summaries, made from stored files alone: nothing here touches the running lab."""
