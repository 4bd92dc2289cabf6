cat >wanted.ini <<'END'
; used by the start script
[server]
host = localhost
port = 9090

[metrics]
; not the same port as above
host = localhost
port = 9100

[log]
level = debug
END
cmp settings.ini wanted.ini && echo "$1"
