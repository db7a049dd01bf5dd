"""One module a contender: its library on a table, asked what `asking.Asking` says, as the library's guide would."""
