"""Methods that exchange values between records: every column keeps exactly the values it had."""
