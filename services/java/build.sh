#!/bin/sh
# Builds the service into build/ of the folder in which it is called: this one, or that of a service with the same source.
#   build.sh [JDK]  with the JDK in that folder, else with the one on PATH
set -eu
source=$(cd "$(dirname "$0")" && pwd)
pom=$source/pom.xml

# Maven fetches the libraries, where their list is another than last time.
cmp -s "$pom" build/lib/.pom.xml || {
    rm -rf build/lib
    mvn --batch-mode --quiet -Dstyle.color=never --file "$pom" \
        dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$PWD/build/lib"
    cp "$pom" build/lib/.pom.xml
}
# The language and the JDK's interface as of 17, whatever later JDK compiles it.
rm -rf build/classes
find "$source"/*.java "$source/personsoap" "$source/personthrift" -name '*.java' \
    -exec "${1:+$1/bin/}javac" --release 17 -cp 'build/lib/*' -d build/classes {} +
# What the client of SOAP reads.
cp "$source/../person/person.wsdl" build/classes/
