/** Mistakes of the first hour, and their messages. Words in braces stand for addresses and keys of running servers. */

export interface Mistake {
  /** As typed after `sealgate`. */
  readonly args: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  /** Files in its folder. */
  readonly files?: Readonly<Record<string, string | Buffer>>
  /** The reader of its output leaves at once, as `| head` may do. */
  readonly unread?: boolean
  readonly code: 0 | 1 | 2
  /** Texts that either output must contain. */
  readonly says: ReadonlyArray<string>
}

const PIN = "A".repeat(43)
/** Must never be shown. */
export const SECRET = "canary-secret-4711"

type Environment = Readonly<Record<string, string>>
type Expect = (args: ReadonlyArray<string>, code: Mistake["code"], ...says: ReadonlyArray<string>) => Mistake

const within =
  (env: Environment): Expect =>
  (args, code, ...says) => ({ args, env, code, says })

const client = within({ SEALGATE_TOKEN: "{token}", SEALGATE_GATEWAY: "{gateway}" })
const sealed = within({ SEALGATE_PROXY: "{proxy}", SEALGATE_PIN: "{pin}" })
const alone = within({})

const usage = (args: string, ...says: ReadonlyArray<string>) => alone(args.split(" "), 2, ...says)
const setting = (command: string, env: Environment, ...says: ReadonlyArray<string>) =>
  within(env)(command.split(" "), 2, ...says)
/** Settings that are well formed, but name something that cannot be used. */
const unfit = (command: string, env: Environment, ...says: ReadonlyArray<string>) =>
  within(env)(command.split(" "), 1, ...says)
const file = (content: string | Buffer, ...says: ReadonlyArray<string>): Mistake => ({
  ...alone(["pin", "--config", "settings"], 2, ...says),
  files: { settings: content },
})

const TYPED: ReadonlyArray<Mistake> = [
  usage("prxy", 'There is no command "prxy"', "proxy"),
  usage("--port", "sealgate --help"),
  usage("prox", "Did you mean proxy?"),
  usage("proxy --prot 80", "There is no flag --prot", "--port"),
  usage("proxy --port", "--port needs a value"),
  usage("proxy --port http", '--port cannot be "http"', "from 0 to 65535"),
  usage("proxy --host a/b", "an address of this machine"),
  usage("proxy --log-level loud", '--log-level cannot be "loud"'),
  usage("proxy 3001", "is not expected"),
  usage("gateway --dev=maybe", "gateway --help"),
  usage("gateway --dev --host 0.0.0.0", "--dev listens on 127.0.0.1 only", "Leave out --host"),
  within({ SEALGATE_DEV: "1" })(["gateway", "--host", "::1"], 2, "--dev listens on 127.0.0.1 only"),
  usage("connect --proxy localhost:3001", "expected an http or https URL"),
  usage(`connect --pin ${PIN} --host 0.0.0.0`, "--allow-remote"),
  usage(`connect --pin ${PIN} --evidence`, "--receipts"),
  {
    ...usage(`connect --pin ${PIN} --receipts afile`, "Receipts cannot be written to afile", "Check --receipts."),
    files: { afile: "" },
  },
  usage("chat What is HPKE?", "put quotes around text with spaces"),
  usage("chat hi --proxy ftp://example.com", "expected an http or https URL"),
  usage(`chat hi --proxy http://u:${SECRET}@example.com`, '"…@example.com"', "without user and password"),
  usage("chat hi --pin abc", "43 characters"),
  usage("chat hi --proxy http://192.0.2.1:1", "The proxy's pin is missing", "SEALGATE_PIN"),
  usage("chat hi --credential-file none.txt --trust-on-first-use", "--credential-file cannot be read"),
  usage("verify", "<file> is missing"),
  usage("verify none.json", "there is no such file"),
  usage("doctor --call --proxy http://192.0.2.1:1", "The proxy's pin is missing", "SEALGATE_PIN"),
  usage("doctor --ca none.pem", "--ca cannot be read"),
  usage("key", "sealgate key"),
  usage("token", "--sub is missing"),
  usage("token --sub a --ttl soon", "expected a duration"),
  usage("jobs --limit 1000", "between 1 and 100"),
  usage("jobs list", "`sealgate jobs` alone lists"),
  usage("config prxy", "reader"),
  usage("run hello", "SEALGATE_TOKEN is not set"),
]

const SETTINGS: ReadonlyArray<Mistake> = [
  setting("proxy", { PORT: "http" }, "PORT: expected a whole number"),
  unfit("proxy", { PORT: "{taken}" }, "PORT: {taken} is taken by", "set PORT to another port"),
  unfit("gateway --dev", { PORT: "{taken}" }, "PORT: {taken} is taken by"),
  unfit("proxy", { PORT: "0", OPERATOR_PORT: "{taken}" }, "OPERATOR_PORT: {taken} is taken by"),
  unfit(`connect --port {taken} --pin ${PIN}`, {}, "--port: {taken} is taken by"),
  unfit("proxy", { PORT: "0", HOST: "nowhere.invalid" }, "HOST: there is no host nowhere.invalid"),
  unfit("proxy", { PORT: "0", HOST: "192.0.2.7" }, "HOST: 192.0.2.7 is not an address of this machine"),
  setting("proxy", { PORT: "65000" }, "OPERATOR_PORT: is missing"),
  setting(
    "proxy",
    { SESSION_TTL: "soon", MAX_REQUEST_BYTES: "much" },
    "2 mistakes",
    "SESSION_TTL",
    "MAX_REQUEST_BYTES",
  ),
  setting("proxy", { PROVIDER1_API_KEY: `${SECRET}\nx` }, "PROVIDER1_API_KEY: expected a secret of visible ASCII"),
  setting("proxy", { PROVIDER1_BASE_URL: `ftp://u:${SECRET}@example.com` }, "PROVIDER1_BASE_URL: expected"),
  setting("proxy", { PROVIDER1_BASE_URL: "http://model.example:8000" }, "PROVIDER1_API_KEY: is missing", "any text"),
  setting("proxy", { PROVIDER1_SEALED_PIN: "short" }, "PROVIDER1_SEALED_PIN: expected pins of 43 characters"),
  setting(
    "proxy",
    { PROVIDER1_SEALED_PIN: PIN, PROVIDER1_BASE_URL: `https://u:${SECRET}@example.com` },
    "PROVIDER1_BASE_URL: has a user or password",
    "PROVIDER1_API_KEY",
  ),
  setting("proxy", { PROVIDER_ORDER: "1,1" }, "PROVIDER_ORDER: expected"),
  setting("proxy", { TLS_CERT_FILE: "none.pem" }, "TLS_KEY_FILE: is missing"),
  unfit(
    "proxy",
    { TLS_CERT_FILE: "none.pem", TLS_KEY_FILE: "none.pem" },
    "TLS_CERT_FILE: none.pem cannot be read: there is no such file",
  ),
  setting("proxy", { REDIS_URL: `http://:${SECRET}@localhost` }, "REDIS_URL: expected a redis"),
  setting("proxy", { HTTPS_PROXY: `socks5://u:${SECRET}@localhost` }, "HTTPS_PROXY: expected an HTTP proxy"),
  unfit("proxy", { CALLER_KEYS_FILE: "none.txt" }, "CALLER_KEYS_FILE: none.txt cannot be read: there is no such file"),
  setting("proxy", { ALLOWED_ORIGINS: "*" }, "ALLOWED_ORIGINS: expected origins"),
  setting("proxy", { OPERATOR_TOKEN: SECRET.slice(0, 10) }, "OPERATOR_TOKEN: expected at least 16 characters"),
  setting("gateway", {}, "JWT_SECRET: is missing", "--dev"),
  setting("gateway", { JWT_SECRET: "replace-me-with-at-least-32-random-bytes" }, "JWT_SECRET: is still a placeholder"),
  setting("gateway", { JWT_SECRET: "short" }, "JWT_SECRET: expected a secret of at least 32 bytes"),
  unfit("gateway", { JWT_JWKS_FILE: "none.json" }, "none.json cannot be used: there is no such file"),
  setting("gateway --dev", { DATABASE_URL: `mysql://u:${SECRET}@localhost/x` }, "DATABASE_URL: expected"),
  unfit("gateway --dev", { PORT: "0", DATABASE_URL: "." }, "it is a folder", "DATABASE_URL"),
  setting("token --sub a --tenant b", {}, "JWT_SECRET: is missing"),
  unfit("pin", {}, "there is no such file", "ATTESTATION_KEY_FILE"),
  file('{"PROT": 1}', "PROT: there is no such setting; did you mean PORT?"),
  file(`{"OPENAI_API_KEY": "${SECRET}"}`, "did you mean PROVIDER1_API_KEY?"),
  file('{"PORT" 3001}', "is not a JSON object of settings"),
  file(`JWT_SECERT=${SECRET}\n`, "JWT_SECERT: there is no such setting; did you mean JWT_SECRET?"),
  file(`PORT=1\n${SECRET}\n`, "line 2: expected NAME=value"),
  file(`JWT_SECRET="${SECRET}\n`, "line 1: the quotes around the value of JWT_SECRET do not match"),
  file(`PROVIDER1_APIKEY=${SECRET}\n`, "did you mean PROVIDER1_API_KEY?"),
  file(Buffer.from([0x50, 0x00, 0xff, 0xfe]), "is not text in UTF-8 or UTF-16"),
  file(Buffer.from(`\ufeffPROVIDER1_APIKEY=${SECRET}\r\n`, "utf16le"), "did you mean PROVIDER1_API_KEY?"),
  file(`\ufeffPROVIDER1_APIKEY=${SECRET}\n`, "PROVIDER1_APIKEY: there is no such setting"),
  within({ PROVIDER1_APIKEY: SECRET })(
    ["proxy"],
    2,
    "PROVIDER1_APIKEY: there is no such setting; did you mean PROVIDER1_API_KEY?",
  ),
  within({ SEALGATE_PINS: PIN })(["chat", "hi"], 2, "did you mean SEALGATE_PIN?"),
  setting(
    "proxy",
    { PROVIDER1_API_KEY: `"${SECRET}"` },
    "PROVIDER1_API_KEY: expected a value without quotes",
    "Docker",
  ),
  unfit(
    "proxy",
    { PORT: "0", ATTESTATION_KEY_FILE: "mistyped.pem" },
    "mistyped.pem: there is no such file, which ATTESTATION_KEY_FILE names",
    "sealgate keygen",
  ),
  unfit(
    "gateway --dev",
    { PORT: "0", DATABASE_URL: `postgres://u:${SECRET}@127.0.0.1:{closedPort}/jobs` },
    "waiting up to 10s for the database at 127.0.0.1:{closedPort}/jobs: nothing listens there",
    "cannot be used: nothing listens there",
  ),
  alone(["pin", "--config", "none.json"], 2, "none.json: there is no such file. Check --config."),
  within({ PORT: "x" })(["config"], 1, "✗ expected a whole number"),
  within({ PROVIDER1_API_KEY: SECRET, JWT_SECRET: SECRET.repeat(2) })(["config"], 0, "(secret, not shown)"),
]

const ASKED: ReadonlyArray<Mistake> = [
  client(["run", ""], 2, "The task is empty"),
  client(["run", "-"], 2, "The task is empty"),
  client(["run", "x", "--agent", "nobody"], 1, "agent"),
  client(["run", "x", "--gateway", "{closed}"], 1, "nothing listens there", "sealgate gateway --dev"),
  client(["run", "x", "--gateway", "{otherTls}"], 1, "it does not speak TLS; use http://"),
  client(["jobs", "--gateway", "http://nowhere.invalid"], 1, "there is no host with that name", "SEALGATE_GATEWAY"),
  client(["jobs", "--gateway", "{other}"], 1, "Is it a sealgate gateway?"),
  client(["jobs", "--gateway", "{proxy}"], 1, "{proxy}"),
  client(["jobs", "show", "1"], 1, "no such job"),
  client(["routing", "set", "none.json"], 2, "there is no such file"),
  {
    ...client(["routing", "set", "r.json"], 2, "r.json is not a valid routing configuration"),
    files: { "r.json": '{"strategy": "best"}' },
  },
  { ...client(["routing", "set", "r.json"], 2, "is not a JSON object"), files: { "r.json": "cheap" } },
  within({ SEALGATE_TOKEN: `${SECRET}\nx`, SEALGATE_GATEWAY: "{gateway}" })(
    ["jobs"],
    2,
    "SEALGATE_TOKEN: expected a secret",
  ),
  within({ SEALGATE_TOKEN: SECRET, SEALGATE_GATEWAY: "{gateway}" })(["jobs"], 1, "`sealgate token` mints a new one"),
  within({ SEALGATE_TOKEN: SECRET, SEALGATE_GATEWAY: "here" })(
    ["jobs"],
    2,
    "SEALGATE_GATEWAY: expected an http or https URL",
  ),
  sealed(["chat", ""], 2, "There is nothing to ask"),
  { ...sealed(["chat"], 2, "There is nothing to ask"), stdin: "  \n" },
  sealed(["chat", "hi", "--pin", PIN], 1, "{pin}"),
  sealed(["chat", "hi", "--provider", "provider9"], 1, "not configured", "`sealgate models` lists"),
  sealed(["chat", "hi", "--proxy", "{closed}"], 1, "nothing listens there", "SEALGATE_PROXY", "sealgate doctor"),
  sealed(["chat", "hi", "--proxy", "{otherTls}"], 1, "it does not speak TLS; use http://"),
  sealed(["chat", "hi", "--proxy", "{other}"], 1, "{other} does not answer as a sealed proxy", "sealgate doctor"),
  sealed(["chat", "hi", "--proxy", "{gateway}"], 1, "Is this a sealed proxy?"),
  sealed(["chat", "hi", "--proxy", "{proxy}/v1"], 0, "verified"),
  sealed(["chat", "hi", "--proxy", "{strict}", "--pin", "{strictPin}"], 1, "SEALGATE_CREDENTIAL", "--credential-file"),
  sealed(["connect", "--port", "0", "--pin", PIN], 1, "which is not pinned ("),
  sealed(
    ["doctor", "--proxy", "{unreachable}", "--pin", "{unreachablePin}"],
    0,
    "Its providers were not called; --call tests them.",
  ),
  within({ SEALGATE_PROXY: "{proxy}", SEALGATE_PIN: "short" })(["chat", "hi"], 2, "SEALGATE_PIN: expected pins"),
  within({ SEALGATE_PROXY: "{proxy}", SEALGATE_PIN: "{pin}", SEALGATE_CREDENTIAL: `${SECRET}\nx` })(
    ["chat", "hi"],
    2,
    "SEALGATE_CREDENTIAL: expected",
    "in one line",
  ),
  sealed(["chat", "hi", "--api", "messages", "--proxy", "{gateway}"], 1, "Is this a sealed proxy?"),
  sealed(["chat", "hi", "--api", "responses", "--provider", "provider9"], 1, "not configured"),
  sealed(["models", "--proxy", "{closed}"], 1, "nothing listens there"),
  sealed(["doctor", "--proxy", "{closed}"], 1, "nothing listens there", "→"),
  sealed(["doctor", "--proxy", "{otherTls}"], 1, "does not speak TLS"),
  sealed(["doctor", "--proxy", "{other}"], 1, "it is not sealgate"),
  sealed(["doctor", "--proxy", "{gateway}"], 1, "This is an agent gateway, not a sealed proxy."),
  sealed(["doctor", "--pin", PIN], 1, "which is not pinned"),
  sealed(
    ["doctor", "--call", "--proxy", "{closed}"],
    1,
    "nothing listens there",
    "No provider was called, because a check failed.",
  ),
  sealed(["doctor", "--call", "--credential-file", "none.txt"], 2, "--credential-file cannot be read"),
  {
    ...alone(["doctor", "--proxy", "{closed}", "--ca", "none.pem"], 2, "--ca holds no certificate in PEM form"),
    files: { "none.pem": "no certificate" },
  },
  { ...alone(["verify", "a.json"], 2, "neither a receipt"), files: { "a.json": "{}" } },
  {
    ...alone(["verify", "a.json", "--keys", "{closed}/v1/keys"], 2, "neither a receipt"),
    files: { "a.json": "a.b.c" },
  },
  alone(["keygen", "/proc/sealgate/k.pem"], 1, "cannot be written", "permissions, or name another file."),
  within({ ATTESTATION_KEY_FILE: "/proc/sealgate/k.pem" })(["keygen"], 1, "set ATTESTATION_KEY_FILE to another one"),
  alone(["pin", "none.pem"], 1, "there is no such file", "permissions, or name another file."),
  { ...alone(["keygen", "k.pem"], 1, "exists already"), files: { "k.pem": "x" } },
  { ...alone(["pin", "k.pem"], 1, "k.pem"), files: { "k.pem": SECRET } },
  within({ JWT_SECRET: SECRET.repeat(2) })(["token", "--sub", "a"], 2, "--tenant is missing"),
]

/** Some commands that only read: they succeed even if nobody reads their output. */
const UNREAD: ReadonlyArray<Mistake> = ["--help", "config", "chat hi", "agents", "jobs"].map((args) => ({
  args: args.split(" "),
  env: { SEALGATE_PROXY: "{proxy}", SEALGATE_PIN: "{pin}", SEALGATE_GATEWAY: "{gateway}", SEALGATE_TOKEN: "{token}" },
  unread: true,
  code: 0,
  says: [],
}))

/** Further mistakes that people made once they had read the first pages. */
const LATER: ReadonlyArray<Mistake> = [
  usage("proxy start", '"start" is not expected', "takes no arguments"),
  usage("proxy --port=", "--port needs a value: a whole number"),
  usage("proxy --port -1", '--port cannot be "-1"'),
  usage("proxy -p 3001", "There is no flag -p", "proxy --help"),
  usage("connect --proxy https://", "expected an http or https URL"),
  usage("verify a.json b.json", '"b.json" is not expected'),
  usage("token --sub a --tenant b --ttl 0s", "expected a duration"),
  usage("run", "The task is empty", "sealgate run"),
  usage("jobs --limit ten", '--limit cannot be "ten"'),
  setting("proxy", { PORT: "0", REDIS_URL: "localhost:6379" }, "REDIS_URL: expected a redis or rediss URL"),
  setting("gateway", { JWT_SECRET: "" }, "JWT_SECRET: is missing", "--dev"),
  sealed(["doctor", "--operator", "{closed}"], 1, "{closed}"),
  sealed(["doctor", "--operator", "{proxy}"], 1, "does not report the proxy's state"),
  { ...alone(["verify", "a.json", "--pin", PIN], 2, "neither a receipt"), files: { "a.json": "" } },
]

/** Mistakes with the gateway's keys, secrets, schemas and files, and at two in the morning. */
const TWO_AM: ReadonlyArray<Mistake> = [
  usage("keys create ci --budget $5/day", "such as 5usd/day"),
  usage("keys create ci --weight 0", "from 1 to 100"),
  usage("keys create ci --agent reviewer", "expected a UUID v7"),
  usage("token --sub a --tenant b --role raed", '--role cannot be "raed"', "manage"),
  usage("attest policy {proxy}", "--key is missing", "sealgate keygen"),
  within({})(["attest", "policy", "{proxy}", "--key", "none.pem"], 1, "none.pem", "or name another file with --key."),
  usage("stats --by user", "label: and the name of a label"),
  usage("conformance client -- ./nowhere", "cannot be started: there is no such file"),
  client(["secrets", "set", "github", SECRET, "--origin", "https://a.example"], 2, "Pipe the secret"),
  client(["secrets", "set", "github", "--origin", "https://a.example"], 2, "Standard input is empty. Pipe the secret"),
  { ...client(["secrets", "set", "a", "--origin", "a.example"], 1, "give an origin, such as"), stdin: SECRET },
  client(["secrets", "remove", "none"], 1, "There is no such secret.", "`sealgate secrets` lists them"),
  client(["keys", "revoke", "ci"], 1, "There is no such key.", "`sealgate keys` lists them"),
  client(["run", "x", "--agent", "command-line"], 1, "Give its id; `sealgate agents` lists them"),
  client(["run", "x", "--thread", "abc"], 2, "`--thread new` prints"),
  {
    ...client(["run", "x", "--mode", "direct", "--output-schema", "s.json"], 1, 'set "type" to "object"'),
    files: { "s.json": '{"type":"array"}' },
  },
  within({ SEALGATE_TOKEN: "Bearer abc", SEALGATE_GATEWAY: "{gateway}" })(["agents"], 2, "without spaces"),
  alone(["attest", "show", "{gateway}"], 1, "Is this a sealed proxy?"),
  setting("proxy", { PROVIDER1_BASE_URL: "https://a.example/v1/chat/completions" }, "without the path of an endpoint"),
  {
    ...unfit("proxy", { PROVIDERS_FILE: "p.json" }, "There is no such member; possible are", "models: Expected array"),
    files: {
      "p.json": `{"providers":[{"name":"a","format":"openai","base_url":"https://a.example/v1/","api_key":"${SECRET}","models":"m"}]}`,
    },
  },
  setting("gateway --dev", { TENANT_WEIGHTS: "acme=2,acme=3" }, "TENANT_WEIGHTS: expected tenants, each once"),
  { ...unfit("gateway", { JWT_JWKS_FILE: "k.json" }, "it has no keys"), files: { "k.json": '{"keys":[]}' } },
  setting("gateway --dev", { DATABASE_URL: "sqlite:///tmp/x.db" }, "expected the path of a file"),
  { ...unfit("gateway --dev", { DATABASE_URL: "x" }, "not a SQLite database"), files: { x: "no database" } },
]

export const MISTAKES: ReadonlyArray<Mistake> = [...TYPED, ...SETTINGS, ...ASKED, ...UNREAD, ...LATER, ...TWO_AM]
