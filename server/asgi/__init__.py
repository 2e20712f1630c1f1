"""What every endpoint does: requests get ids and a lane to work in, responses ETags and codings."""
