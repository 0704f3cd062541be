"""Makes the nine calls of a brokerage by its WSDL, as a stranger's client library reads it, and prints what came back."""

import json
import sys

import zeep
import zeep.helpers

url, symbol = sys.argv[1:]
service = zeep.Client(f"{url}?wsdl").service
user = "zoë & <co>"
profile = {"full_name": "Zoë 'Z' <Zeep>", "address": "1 & 2, Sträßchen", "email": "z@example.org", "card": "1234"}


def told(reply):
    return zeep.helpers.serialize_object(reply, dict)


said = {
    "register": told(service.register(user=user, password="a<b&c", balance=100_000_000, **profile)),
    "getQuote": told(service.getQuote(symbol=symbol)),
    "buy": told(service.buy(user=user, symbol=symbol, quantity=10)),
    "listHoldings": told(service.listHoldings(user=user)),
}
said["sell"] = told(service.sell(user=user, holding=said["listHoldings"][0]["id"]))
said["update"] = told(service.update(user=user, password="new", **profile | {"email": "new@example.org"}))
said["logout"] = told(service.logout(user=user))
said["login"] = told(service.login(user=user, password="new"))
said["getAccount"] = told(service.getAccount(user=user))
try:
    service.login(user=user, password="a<b&c")
except zeep.exceptions.Fault as fault:
    said["fault"] = [one.text for one in fault.detail.iter() if one.tag.endswith("code")]
print(json.dumps(said))
