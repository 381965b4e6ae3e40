import urllib.request

print(urllib.request.urlopen("http://api:8000/greeting").read().decode().lower(), end="")
