#!/bin/bash
sleep 1
got=$(python3 -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8123/word', timeout=5).read().decode())" 2>/dev/null)
if [ "$got" = hello ] && [ "$(cat /etc/service.state)" = done ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
