"""A fleet: thousands of packages in one repository, each checked or rendered by one of many workers."""
