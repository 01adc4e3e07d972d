"""What a finished run is asked, by plain decoding and through the server, and its report card."""
