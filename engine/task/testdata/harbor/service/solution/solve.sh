#!/bin/bash
mkdir -p /opt/www && printf hello >/opt/www/word
cd /opt/www && nohup python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 &
echo done >/etc/service.state
