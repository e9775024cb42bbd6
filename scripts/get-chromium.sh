#!/bin/sh
# The browser that drives the dashboard in tests. Installed where that is easy; the tests are skipped without it.
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing Debian's chromium for the tests of the dashboard"
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 ||
    { apt-get update -qq >/dev/null 2>&1 && apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1; }
fi
command -v chromium >/dev/null ||
  echo "no Chromium: the tests in a browser are skipped. Debian: apt-get install chromium"
exit 0
