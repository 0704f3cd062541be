#!/bin/sh
# Maven takes seconds to find that nothing has changed: it is asked only where something has.
set -eu

stamp=target/built
if [ -e "$stamp" ] && [ -z "$(find build.sh pom.xml src -newer "$stamp")" ]; then
    exit
fi
# As old as the build's beginning: what is changed meanwhile is built the next time, and so is all where it is cut short.
began=target/building.$$
trap 'rm -f "$began"' EXIT
mkdir -p target
touch "$began"
mvn --batch-mode --quiet package
mv "$began" "$stamp"
