// Nothing calls in here.
