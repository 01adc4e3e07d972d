"""Pages and files derived from results: feedback, class report, overview, LMS exports."""
