score() { echo "{\"reward\": $1, \"seen\": $2}" >/logs/verifier/reward.json; }
