#!/bin/sh
# Maven takes seconds to find that nothing has changed: it is asked only where something has.
#   ./build.sh probe  ends with 0 where the JDK that Maven uses can compile, and the `java` on PATH run what it compiled
set -eu

fail() {
    echo "build.sh: $1" >&2
    exit 1
}
# The major version of a JDK by its launcher; of what is none, 0.
major() {
    number=$("$1" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
    echo "${number:-0}"
}

if [ "${1-}" = probe ]; then
    command -v mvn >/dev/null || fail "there is no \`mvn\` on PATH"
    jdk=$(mvn --batch-mode --version | sed -n 's/^Java version: .*, runtime: //p')
    [ -x "$jdk/bin/javac" ] || fail "Maven uses the Java at \"$jdk\", which has no \`javac\`"
    for java in "$jdk/bin/java" java; do
        version=$(major "$java")
        [ "$version" -ge 17 ] || fail "\`$java\` is of version $version, allowed: 17 or later"
    done
    exit
fi

stamp=target/built
if [ -e "$stamp" ] && [ -z "$(find build.sh pom.xml src ../proto ../person -newer "$stamp")" ]; then
    exit
fi
# As old as the build's beginning: what is changed meanwhile is built the next time, and so is all where it is cut short.
began=target/building.$$
trap 'rm -f "$began"' EXIT
mkdir -p target
touch "$began"
# Avro's classes bear the schema's namespace, in which those of Protocol Buffers are already.
mkdir -p target/avro
sed 's/weighbridge\.person\.v1/avro/g' ../person/person.avsc >target/avro/person.avsc
mvn --batch-mode --quiet package
mv "$began" "$stamp"
