mkdir -p /logs/verifier
want=$(python3 -c 'import os, urllib.request as u; print(u.urlopen(os.environ["API"] + "/greeting").read().decode(), end="")')
if [ -n "$want" ] && [ "$(python3 greet.py)" = "$want" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
