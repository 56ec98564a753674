"""The files of a folder as packwise reads them, and the clients that would run packwise there."""
