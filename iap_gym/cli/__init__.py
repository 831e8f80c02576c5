"""The command ``iap-gym``; one file a subcommand, imported when it is called."""
