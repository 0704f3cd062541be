import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What this service answers is what the one in Rust does: every call, fault and end, over each transport on each database. */
final class SideBySideTest {
    /** Calls with their fields; `holding` is the place of a holding in the list that the service had last. */
    private static final String CALLS =
            """
            quote {"symbol":"BR&D"}
            quote {"symbol":"ÇE"}
            quote {"symbol":"NONE"}
            quote {"symbol":""}
            login {"user":"000001","password":"pw"}
            login {"user":"nobody","password":"pw"}
            account {"user":"000001"}
            login {"user":"000001","password":"pw<1>"}
            account {"user":"000001"}
            holdings {"user":"000002"}
            holdings {"user":"000001"}
            buy {"user":"000001","symbol":"BR&D","quantity":11}
            holdings {"user":"000001"}
            sell {"user":"000003","holding":3}
            sell {"user":"000001","holding":3}
            sell {"user":"000001","holding":3}
            sell {"user":"nobody","holding":3}
            holdings {"user":"000001"}
            buy {"user":"000001","symbol":"A","quantity":1000000}
            buy {"user":"000001","symbol":"A","quantity":0}
            buy {"user":"000001","symbol":"A","quantity":-1}
            buy {"user":"000001","symbol":"A","quantity":1000000001}
            buy {"user":"000001","symbol":"NONE","quantity":1}
            buy {"user":"nobody","symbol":"A","quantity":1}
            account {"user":"000001"}
            update {"user":"000001","password":"new","full_name":"<f>","address":"&a","email":"ü 漢 🚲","card":""}
            update {"user":"nobody","password":"new","full_name":"f","address":"a","email":"e","card":"c"}
            login {"user":"000001","password":"pw<1>"}
            login {"user":"000001","password":"new"}
            register {"user":"000200","password":"s<3>","full_name":"Zoë O'Neil","address":"1 & 2","email":"z","card":"9","balance":123456}
            register {"user":"000200","password":"s","full_name":"f","address":"a","email":"e","card":"c","balance":1}
            register {"user":"000001","password":"s","full_name":"f","address":"a","email":"e","card":"c","balance":1}
            register {"user":"ü/?%","password":"s","full_name":"f","address":"a","email":"e","card":"c","balance":-5}
            account {"user":"ü/?%"}
            logout {"user":"000200"}
            logout {"user":"nobody"}
            account {"user":"nobody"}
            holdings {"user":"nobody"}
            home {"user":"nobody"}
            portfolio {"user":"nobody"}
            home {"user":"000003"}
            portfolio {"user":"000003"}
            portfolio {"user":"000002"}
            sell-first {"user":"000003","symbol":"A","quantity":103}
            sell-first {"user":"000003","symbol":"A","quantity":103}
            sell-first {"user":"000003","symbol":"A","quantity":103}
            sell-first {"user":"nobody","symbol":"A","quantity":103}
            switch-user {"user":"000003","register":{"user":"000201","password":"s","full_name":"f","address":"a","email":"e","card":"c","balance":7}}
            switch-user {"user":"000003","register":{"user":"000201","password":"s","full_name":"f","address":"a","email":"e","card":"c","balance":7}}
            switch-user {"user":"nobody","register":{"user":"000202","password":"s","full_name":"f","address":"a","email":"e","card":"c","balance":7}}
            account {"user":"000003"}
            account {"user":"000202"}
            buy {"user":"000004","symbol":"ÇE","quantity":3,"factor":93}
            quote {"symbol":"ÇE"}
            holdings {"user":"000004"}
            sell {"user":"000004","holding":1,"factor":107}
            sell-first {"user":"000004","symbol":"ÇE","quantity":3,"factor":110}
            buy {"user":"000004","symbol":"ÇE","quantity":4}
            quote {"symbol":"BR&D"}
            quote {"symbol":"ÇE"}
            buy {"user":"000004","symbol":"A","quantity":1,"factor":89}
            sell {"user":"000004","holding":0,"factor":111}
            sell-first {"user":"000004","symbol":"A","quantity":104,"factor":0}
            buy {"user":"000004","symbol":"NONE","quantity":1,"factor":90}
            buy {"user":"nobody","symbol":"A","quantity":1,"factor":90}
            portfolio {"user":"000004"}
            account {"user":"000004"}
            state {}
            """;

    /** What every database numbers and times as it likes. */
    private static final List<String> OWN = List.of("id", "holding", "bought", "opened", "completed", "created");

    @TempDir
    Path folder;

    @Test
    void everyCallOverEachTransportOnEachDatabase() throws Exception {
        String data = Service.data(folder).toString();
        List<String> expected = new ArrayList<>();
        String fresh;
        String used;
        try (Service rust = Service.rust(Map.of("DATA", data))) {
            Client client = new Client.Json(rust);
            fresh = client.dump();
            play(client, expected);
            used = client.dump();
        }
        assertNotEquals(fresh, used);
        try (PostgresServer server = PostgresServer.start()) {
            List<String[]> all = new ArrayList<>();
            for (String protocol : Client.PROTOCOLS) {
                all.add(new String[] {protocol, "memory"});
            }
            // Transports and databases do not know of each other.
            all.add(new String[] {"grpc", "file"});
            all.add(new String[] {"soap", "derby"});
            if (server != null) {
                all.add(new String[] {"http1-json", server.overSocket()});
                all.add(new String[] {"soap", server.overTcp()});
            }
            for (String[] each : all) {
                String where = each[1] + " over " + each[0];
                String state = Files.createTempDirectory(folder, "state").toString();
                var variables = Map.of("DATA", data, "DATABASE", each[1], "STATE", state, "PROTOCOL", each[0]);
                try (Service service = Service.java(variables);
                        Client client = Client.of(each[0], service)) {
                    assertEquals(fresh, client.dump(), where);
                    List<String> answers = new ArrayList<>();
                    play(client, answers);
                    assertEquals(String.join("\n", expected), String.join("\n", answers), where);
                    assertEquals(used, client.dump(), where);
                    client.call("reset", Service.JSON.createObjectNode());
                    assertEquals(fresh, client.dump(), where + ": a reset is a fresh population");
                    play(client, new ArrayList<>());
                    assertEquals(used, client.dump(), where + ": what is done again ends alike");
                    assertEquals(0, service.stop(), where);
                }
            }
        }
    }

    /** The other service's SOAP by a client that is made of what it answers. */
    @Test
    void theClientOfOneServiceIsThatOfTheOther() throws Exception {
        String data = Service.data(folder).toString();
        List<String> json = new ArrayList<>();
        List<String> soap = new ArrayList<>();
        try (Service rust = Service.rust(Map.of("DATA", data, "PROTOCOL", "soap"))) {
            play(new Client.Soap(rust), soap);
        }
        try (Service java = Service.java(Map.of("DATA", data))) {
            play(new Client.Json(java), json);
        }
        assertEquals(String.join("\n", json), String.join("\n", soap));
    }

    private static void play(Client client, List<String> answers) throws Exception {
        Map<Integer, JsonNode> holdings = new HashMap<>();
        for (String line : CALLS.strip().split("\n")) {
            int space = line.indexOf(' ');
            String name = line.substring(0, space);
            ObjectNode fields = (ObjectNode) Service.JSON.readTree(line.substring(space + 1));
            if (name.equals("sell")) {
                fields.set("holding", holdings.get(fields.get("holding").asInt()));
            }
            JsonNode answer = client.call(name, fields);
            JsonNode list = answer.path("holdings");
            for (int i = 0; name.equals("holdings") && i < list.size(); i++) {
                holdings.put(i, list.get(i).get("id"));
            }
            answers.add(line + " -> " + plain(answer));
        }
    }

    /** Without what is the database's own; keys by the alphabet. */
    private static JsonNode plain(JsonNode node) {
        if (node.isArray()) {
            var array = Service.JSON.createArrayNode();
            node.forEach(element -> array.add(plain(element)));
            return array;
        }
        if (!node.isObject()) {
            return node;
        }
        ObjectNode plain = Service.JSON.createObjectNode();
        List<String> names = new ArrayList<>();
        node.fieldNames().forEachRemaining(names::add);
        names.stream().sorted().forEach(name -> {
            JsonNode value = node.get(name);
            boolean isTime = name.equals("last_login") && value.isNumber();
            plain.set(name, isTime || OWN.contains(name) ? Service.JSON.valueToTree("own") : plain(value));
        });
        return plain;
    }
}
