//! A small shop: customers who did not log in, or show another's token, get nothing. Over HTTP/1.1 and, if asked, over
//! HTTP/2.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// A request as the shop sees it.
pub struct Asked {
    pub method: String,
    pub path: String,
    pub fields: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

pub struct Answer {
    pub status: u16,
    pub fields: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

fn answer(status: u16, body: &Value) -> Answer {
    let fields = vec![("content-type", "application/json".to_owned())];
    Answer { status, fields, body: body.to_string().into_bytes() }
}

/// State that all connections share.
#[derive(Default)]
pub struct Shop {
    /// Password and item by user.
    customers: BTreeMap<String, (String, String)>,
    /// User by token.
    tokens: Mutex<BTreeMap<String, String>>,
    /// Users in the order in which they logged in.
    pub log: Mutex<Vec<String>>,
}

impl Shop {
    pub fn new(customers: &[(&str, &str, &str)]) -> Arc<Self> {
        let customer = |(user, password, item): &(&str, &str, &str)| {
            ((*user).to_owned(), ((*password).to_owned(), (*item).to_owned()))
        };
        Arc::new(Self { customers: customers.iter().map(customer).collect(), ..Self::default() })
    }

    pub fn answer(&self, asked: &Asked) -> Answer {
        match (asked.method.as_str(), asked.path.as_str()) {
            ("GET", "/") => answer(200, &json!({ "front": true })),
            ("POST", "/login") => self.login(&asked.body),
            (method, path) => {
                let Some((token, user)) = self.user(asked) else { return answer(401, &json!({})) };
                let item = &self.customers[&user].1;
                match (method, path.strip_prefix("/items/")) {
                    ("GET", Some(wanted)) if wanted == item => {
                        let right =
                            asked.fields.get("cookie").is_some_and(|c| *c == format!("sid={token}-sid"));
                        answer(if right { 200 } else { 403 }, &json!({ "item": item }))
                    }
                    ("POST", None)
                        if path == "/orders" && asked.body == format!("item={item}").as_bytes() =>
                    {
                        answer(201, &json!({ "order": format!("{:x}", token.len()) }))
                    }
                    _ => answer(404, &json!({})),
                }
            }
        }
    }

    fn login(&self, body: &[u8]) -> Answer {
        let given: Value = serde_json::from_slice(body).unwrap_or_default();
        let user = given["user"].as_str().unwrap_or_default().to_owned();
        self.log.lock().expect("unpoisoned").push(user.clone());
        match self.customers.get(&user) {
            Some((password, _)) if given["password"] == **password => {}
            _ => return answer(401, &json!({ "error": "who?" })),
        }
        if user == "broken" {
            return answer(200, &json!({ "tokens": [] }));
        }
        let mut tokens = self.tokens.lock().expect("unpoisoned");
        let token = format!("{user}:{:06}", tokens.len());
        tokens.insert(token.clone(), user);
        let mut reply = answer(200, &json!({ "token": token }));
        reply.fields.push(("set-cookie", "theme=dark".to_owned()));
        reply.fields.push(("set-cookie", format!("sid={token}-sid; HttpOnly")));
        reply
    }

    fn user(&self, asked: &Asked) -> Option<(String, String)> {
        let token = asked.fields.get("authorization")?.strip_prefix("Bearer ")?;
        let user = self.tokens.lock().expect("unpoisoned").get(token)?.clone();
        Some((token.to_owned(), user))
    }

    /// Serves HTTP/1.1 until the process ends.
    pub fn open(self: &Arc<Self>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shop = Arc::clone(self);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shop = Arc::clone(&shop);
                std::thread::spawn(move || shop.serve(stream));
            }
        });
        address
    }

    fn serve(&self, mut stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let mut reader = BufReader::new(stream.try_clone().expect("a copy"));
        while let Some(asked) = read(&mut reader) {
            let Answer { status, fields, body } = self.answer(&asked);
            let mut reply = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len()).into_bytes();
            for (name, value) in fields {
                reply.extend(format!("{name}: {value}\r\n").into_bytes());
            }
            reply.extend(b"\r\n");
            reply.extend(body);
            if stream.write_all(&reply).is_err() {
                return;
            }
        }
    }

    /// Serves HTTP/2 until the process ends.
    pub fn open_http2(self: &Arc<Self>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        listener.set_nonblocking(true).expect("non-blocking");
        let shop = Arc::clone(self);
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                let tasks = tokio::task::LocalSet::new();
                tasks
                    .run_until(async {
                        while let Ok((stream, _)) = listener.accept().await {
                            let shop = Arc::clone(&shop);
                            tokio::task::spawn_local(async move { shop.serve_http2(stream).await });
                        }
                    })
                    .await;
            });
        });
        address
    }

    async fn serve_http2(self: Arc<Self>, stream: tokio::net::TcpStream) {
        let Ok(mut connection) = h2::server::handshake(stream).await else { return };
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            let shop = Arc::clone(&self);
            tokio::task::spawn_local(async move {
                let (head, mut body) = request.into_parts();
                let mut bytes = Vec::new();
                while let Some(Ok(piece)) = body.data().await {
                    let _ = body.flow_control().release_capacity(piece.len());
                    bytes.extend_from_slice(&piece);
                }
                let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
                let asked = Asked {
                    method: head.method.to_string(),
                    path: head.uri.path().to_owned(),
                    fields: head
                        .headers
                        .iter()
                        .map(|(name, value)| (name.to_string(), text(value)))
                        .collect(),
                    body: bytes,
                };
                let announced = head.headers.get("content-length").map(&text);
                let Answer { status, fields, body } = match announced {
                    Some(length) if length != asked.body.len().to_string() => answer(400, &json!({})),
                    _ => shop.answer(&asked),
                };
                let reply =
                    fields.iter().fold(http::Response::builder().status(status), |reply, (name, value)| {
                        reply.header(*name, value)
                    });
                let reply = reply.body(()).expect("a reply");
                if let Ok(mut stream) = respond.send_response(reply, false) {
                    let _ = stream.send_data(body.into(), true);
                }
            });
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    let mut next = || {
        line.clear();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        Some(line.trim_end().to_owned())
    };
    let first = next()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut fields = BTreeMap::new();
    loop {
        let line = next()?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        fields.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = fields.get("content-length").map_or(Some(0), |length| length.parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { method, path, fields, body })
}
