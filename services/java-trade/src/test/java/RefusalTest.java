import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What cannot be read is refused as by the service in Rust. */
final class RefusalTest {
    @TempDir
    Path folder;

    @Test
    void requestsThatCannotBeReadAreRefusedAlikeAndChangeNothing() throws Exception {
        String data = Service.data(folder).toString();
        try (Service rust = Service.rust(Map.of("DATA", data));
                Service java = Service.java(Map.of("DATA", data))) {
            var clients = List.of(new Client.Json(rust), new Client.Json(java));
            String fresh = clients.get(1).dump();
            for (String request :
                    """
                    POST /users/000001/buy
                    POST /users/000001/buy {
                    POST /users/000001/buy []
                    POST /users/000001/buy null
                    POST /users/000001/buy "A"
                    POST /users/000001/buy {"symbol":"A"}
                    POST /users/000001/buy {"symbol":"A","quantity":"1"}
                    POST /users/000001/buy {"symbol":"A","quantity":""}
                    POST /users/000001/buy {"symbol":"A","quantity":null}
                    POST /users/000001/buy {"symbol":null,"quantity":1}
                    POST /users/000001/buy {"symbol":1,"quantity":1}
                    POST /users/000001/buy {"symbol":true,"quantity":1}
                    POST /users/000001/buy {"symbol":["A"],"quantity":1}
                    POST /users/000001/buy {"symbol":"A","quantity":1.5}
                    POST /users/000001/buy {"symbol":"A","quantity":1.0}
                    POST /users/000001/buy {"symbol":"A","quantity":true}
                    POST /users/000001/buy {"symbol":"A","quantity":9223372036854775808}
                    POST /users/000001/buy {"symbol":"A","quantity":1} x
                    POST /users/000001/buy {"symbol":"A","quantity":1,"factor":"100"}
                    POST /users/000001/buy {"symbol":"A","quantity":1,"factor":""}
                    POST /users/000001/buy {"symbol":"A","quantity":1,"factor":100.0}
                    POST /users/000001/buy {"symbol":"A","quantity":1,"factor":true}
                    POST /users/000001/buy {"symbol":"A","quantity":1,"factor":9223372036854775808}
                    POST /users/000001/sell {"holding":3,"factor":89}
                    POST /users/000001/sell-first {"symbol":"A","quantity":101,"factor":111}
                    POST /users/000001/sell {"holding":-1}
                    POST /users/000001/sell {"holding":"1"}
                    POST /users/000001/sell-first {"symbol":"A","quantity":-1}
                    POST /login {"user":"000001"}
                    POST /login {"user":"000001","password":"x","more":1}
                    POST /users {"user":"9"}
                    POST /users/000001/register {"user":"9"}
                    PUT /users/000001/profile {"card":"1"}
                    GET /
                    GET /quotes
                    GET /quotes/
                    GET /quotes/%C3
                    GET /quotes/A%2FB
                    GET /users//account
                    GET /users/000001
                    GET /users/000001/account/
                    GET /login/x
                    GET /control
                    GET /trade
                    GET /login
                    HEAD /quotes/A
                    HEAD /quotes/NONE
                    DELETE /users/000001/account
                    PUT /users
                    GET /control/reset
                    POST /control/state
                    """
                            .strip()
                            .split("\n")) {
                String[] words = request.split(" ", 3);
                List<String> told = new ArrayList<>();
                for (Client.Json client : clients) {
                    var reply = client.send(words[0], words[1], words.length > 2 ? words[2] : "");
                    told.add(reply.statusCode() + " " + header(reply, "content-type") + " "
                            + List.of(header(reply, "allow").split(", ?")).stream()
                                    .sorted()
                                    .toList());
                    boolean isBare = words[0].equals("HEAD") || reply.statusCode() == 200;
                    assertTrue(isBare || !error(reply).isEmpty(), request + ": " + reply.body());
                }
                assertEquals(told.get(0), told.get(1), request);
            }
            assertEquals(fresh, clients.get(1).dump());
        }
    }

    private static String header(HttpResponse<?> reply, String name) {
        return reply.headers().firstValue(name).orElse("");
    }

    private static String error(HttpResponse<String> reply) throws Exception {
        return Service.JSON.readTree(reply.body()).path("error").asText();
    }

    @Test
    void envelopesThatCannotBeReadAreFaultsAlikeAndChangeNothing() throws Exception {
        String data = Service.data(folder).toString();
        String whole =
                """
                <e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Header><x/></e:Header><e:Body>\
                <b:buy xmlns:b="urn:weighbridge:trade:1"><quantity>1</quantity><!-- c --><symbol><![CDATA[A]]></symbol>\
                <user>00000&#49;</user></b:buy></e:Body></e:Envelope>""";
        try (Service rust = Service.rust(Map.of("DATA", data, "PROTOCOL", "soap"));
                Service java = Service.java(Map.of("DATA", data, "PROTOCOL", "soap"))) {
            var clients = List.of(new Client.Json(rust), new Client.Json(java));
            String fresh = clients.get(1).dump();
            for (String[] request : new String[][] {
                {"buy", whole.substring(0, whole.length() / 2)},
                {"buy", ""},
                {"buy", "{}"},
                {"buy", whole.replace(">1<", ">one<")},
                {"buy", whole.replace(">1<", "><")},
                {"buy", whole.replace(">1<", ">9223372036854775808<")},
                {"buy", whole.replace("<quantity>1</quantity>", "")},
                {"buy", whole.replace("<symbol><![CDATA[A]]></symbol>", "")},
                {"buy", whole.replace(">1<", ">-1<")},
                {"buy", whole.replace("</quantity>", "</quantity><factor>one</factor>")},
                {"buy", whole.replace("</quantity>", "</quantity><factor/>")},
                {"buy", whole.replace("</quantity>", "</quantity><factor>111</factor>")},
                {"buy", whole.replace("urn:weighbridge", "urn:other")},
                {"buy", whole.replace("http://schemas.xmlsoap.org/soap/envelope/", "urn:other")},
                {"buy", whole.replace("&#49;", "&nbsp;")},
                {"nothing", whole.replace("b:buy", "b:nothing")},
                {"sell", whole},
                {null, whole}
            }) {
                List<String> told = new ArrayList<>();
                for (Client.Json client : clients) {
                    HttpResponse<String> reply = asked(client, request[0], request[1]);
                    told.add(reply.statusCode() + " " + header(reply, "content-type") + " "
                            + reply.body().replaceFirst("(?s).*<code>(.*)</code>.*", "$1"));
                }
                assertEquals("500 text/xml; charset=utf-8 wrong", told.get(0), request[1]);
                assertEquals(told.get(0), told.get(1), request[1]);
            }
            assertEquals(fresh, clients.get(1).dump());
            String bought = asked(clients.get(1), "buy", whole).body();
            assertTrue(bought.contains("<quantity>1</quantity>"), bought);
            assertNotEquals(fresh, clients.get(1).dump());
            String[] interfaces = new String[2];
            for (int i = 0; i < 2; i++) {
                Client.Json client = clients.get(i);
                interfaces[i] = client.send("GET", "/trade?wsdl", "").body().replace(client.service.base(), "BASE");
            }
            assertTrue(interfaces[0].contains("BASE/trade"));
            assertEquals(interfaces[0], interfaces[1]);
        }
    }

    private static HttpResponse<String> asked(Client.Json client, String action, String envelope) throws Exception {
        return action == null
                ? client.send("POST", "/trade", envelope, "Content-Type", "text/xml")
                : client.send(
                        "POST",
                        "/trade",
                        envelope,
                        "Content-Type",
                        "text/xml; charset=utf-8",
                        "SOAPAction",
                        "\"urn:weighbridge:trade:1/" + action + "\"");
    }
}
