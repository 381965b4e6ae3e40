#!/bin/bash
. /tests/helper.sh
n=0
[ -e /verifier-image ] && n=$((n+1))
[ "$(cat /app/out/result.txt)" = "$WANT" ] && n=$((n+1))
[ "$(find /app/site -type f | sort | tr '\n' ' ')" = "/app/site/index.html " ] && n=$((n+1))
[ "$(tr -d '\n' </logs/artifacts/sorted)" = ab ] && n=$((n+1))
[ ! -e /app/list ] && n=$((n+1))
if [ $n = 5 ]; then score 1 $n; else find /app /logs; score 0 $n; fi
