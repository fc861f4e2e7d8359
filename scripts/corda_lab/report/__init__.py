"""Report pages, charts and summaries. They are made from stored files only; nothing here touches the running lab."""
