import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.*;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * The workload person, whatever the codec: the model, the people file and the operations. Components stand in the
 * order in which codecs write them. The picture alone may be absent, as null.
 */
record Person(String id, Name name, String gender, Location location, String email, Picture picture) {
    Person {
        need("a person needs `id`, `name`, `gender`, `location` and `email`", id, name, gender, location, email);
    }

    // Model

    record Name(String title, String first, String last) {
        Name {
            need("a name needs `title`, `first` and `last`", title, first, last);
        }
    }

    record Location(String street, String city, String state, int postCode) {
        Location {
            need("a location needs `street`, `city`, `state` and `postCode`", street, city, state);
        }
    }

    record Picture(String large, String medium, String thumbnail) {
        Picture {
            need("a picture needs `large`, `medium` and `thumbnail`", large, medium, thumbnail);
        }
    }

    record Link(Person p1, Person p2) {}

    record Persons(List<Person> persons, int count) {}

    record Links(List<Link> links, int count) {}

    record Id(String id) {
        Id {
            need("an `id` is needed", id);
        }
    }

    /** A request without arguments. */
    record Nothing() {}

    record Version(String text) {}

    /** Refuses what lacks a field: codecs leave it null. */
    private static void need(String what, Object... fields) {
        if (Arrays.asList(fields).contains(null)) {
            throw new IllegalArgumentException(what);
        }
    }

    // People file

    /** What the people file holds: persons, and pairs of their ids. */
    record PeopleFile(List<Person> persons, List<List<Long>> links) {
        PeopleFile {
            need("`persons` and `links` are needed", persons, links);
            Set<String> ids = new HashSet<>();
            for (Person person : persons) {
                need("`persons` must not hold null", person);
                if (!ids.add(person.id)) {
                    throw new IllegalArgumentException("two persons have the id " + person.id);
                }
            }
            for (List<Long> link : links) {
                if (link == null || link.size() != 2 || !link.stream().allMatch(id -> ids.contains("" + id))) {
                    throw new IllegalArgumentException("a link must be two ids of persons, not " + link);
                }
            }
        }

        /** Reads it in the folder DATA. */
        static PeopleFile read(String folder) throws IOException {
            if (folder.isEmpty()) {
                throw new IOException("none is named");
            }
            Path file = Path.of(folder, "people.json");
            try {
                return Codec.readJson(Files.newInputStream(file), PeopleFile.class);
            } catch (NoSuchFileException absent) {
                throw new IOException("there is no " + file, absent);
            }
        }
    }

    // Operations

    /** How a codec makes its messages: persons P, links L, and the lists PL and LL of both. */
    record Forms<P, L, PL, LL>(
            Function<Person, P> person,
            BiFunction<P, P, L> link,
            Function<List<P>, PL> list,
            Function<List<L>, LL> linkList) {}

    /** The persons and links of the people file as messages of a codec. */
    static final class People<P, L, PL, LL> {
        /** Two persons of which a link is made. */
        private record Pair<P>(P p1, P p2) {}

        private final Forms<P, L, PL, LL> forms;
        private final List<P> persons;
        private final Map<String, P> byId = new HashMap<>();
        /** By the id on either side. */
        private final Map<String, List<Pair<P>>> links = new HashMap<>();

        People(PeopleFile file, Forms<P, L, PL, LL> forms) {
            this.forms = forms;
            persons = file.persons.stream().map(forms.person).toList();
            for (int i = 0; i < persons.size(); i++) {
                byId.put(file.persons.get(i).id, persons.get(i));
            }
            for (List<Long> link : file.links) {
                List<String> ids = link.stream().map(String::valueOf).toList();
                Pair<P> pair = new Pair<>(byId.get(ids.get(0)), byId.get(ids.get(1)));
                for (String id : new HashSet<>(ids)) {
                    links.computeIfAbsent(id, first -> new ArrayList<>()).add(pair);
                }
            }
        }

        /** All persons. */
        PL listPersons() {
            return forms.list.apply(persons);
        }

        /** The person with that id, where there is one. */
        Optional<P> getPerson(String id) {
            return Optional.ofNullable(byId.get(id));
        }

        /** The links with that id on either side. */
        LL getPersonLinks(String id) {
            List<L> found = new ArrayList<>();
            for (Pair<P> pair : links.getOrDefault(id, List.of())) {
                found.add(forms.link.apply(pair.p1, pair.p2));
            }
            return forms.linkList.apply(found);
        }

        /** All persons, one by one. */
        Iterator<P> streamPersons() {
            return persons.iterator();
        }
    }
}
