#!/bin/bash
mkdir -p /app/out /app/site/cache && echo 42 >/app/out/result.txt && echo hi >/app/site/index.html && touch /app/site/x.tmp /app/site/cache/y
