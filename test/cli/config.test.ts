/** Where settings come from, the same for every command. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Config, ConfigProvider, Effect, Option, Result } from "effect"
import { sealgate } from "../../src/cli/commandLine.ts"
import { joinPins } from "../../src/cli/flags.ts"
import { parseEnvFile } from "../../src/cli/settings/envFile.ts"
import { nearest } from "../../src/cli/settings/nearest.ts"
import { layerSources, parseFile } from "../../src/cli/settings/sources.ts"
import { VARIABLES } from "../../src/cli/settings/knownSettings.ts"
import { decodeTextFile } from "../../src/cli/settings/textFile.ts"
import { proxySettings } from "../../src/layers/config/proxySettings.ts"
import { decodeSettings } from "../../src/layers/config/Setting.ts"
import { answering } from "../support/answering.ts"
import { run } from "../support/cli.ts"
import * as Processes from "../support/processes.ts"
import { temporaryFolder } from "../support/proxy.ts"

const KEY = "sk-canary-4711"
const PIN = "A".repeat(43)

/** Runs a command to its end in `folder`, with exactly this environment. */
const ended = Effect.fnUntraced(function* (
  folder: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {},
) {
  const running = yield* Processes.run(args, { folder, env })
  const code = yield* Effect.promise(() => running.exit)
  return { code, stdout: running.stdout.join("\n"), stderr: running.stderr.join("\n") }
})

describe("settings of every command", () => {
  it.live(
    "come from the environment, else from the first file of --config that has them, and are shown with their source",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
        write("settings.json", JSON.stringify({ PORT: 1, HOST: "::1", LOG_LEVEL: "warn", ALLOWED_HOSTS: ["a", "b"] }))
        write(".env", `export PORT=2\nHOST='127.0.0.2'\nPROVIDER1_API_KEY="${KEY}"\n`)
        const args = ["config", "proxy", "--config", ".env", "--config=settings.json", "--json"]
        const shown = yield* ended(folder, args, { PORT: "3", HOST: " " })
        assert.strictEqual(shown.code, 0, shown.stderr)
        assert.notInclude(shown.stdout, KEY)
        const rows = (JSON.parse(shown.stdout) as { readonly proxy: ReadonlyArray<Readonly<Record<string, unknown>>> })
          .proxy
        assert.deepStrictEqual(
          rows.map(({ from, secret, setting, value }) => [setting, value, secret, from]),
          [
            ["PORT", "3", false, "the environment"],
            ["HOST", "127.0.0.2", false, ".env"],
            ["ALLOWED_HOSTS", "a,b", false, "settings.json"],
            ["LOG_LEVEL", "warn", false, "settings.json"],
            ["PROVIDER1_API_KEY", null, true, ".env"],
          ],
        )
        const people = yield* ended(folder, ["config", "proxy", "--config=.env"])
        assert.include(people.stdout, "(secret, not shown)")
        assert.notInclude(people.stdout, KEY)
        // The second is refused, without being shown.
        for (const [status, url] of [
          [0, `https://someone:${KEY}@gateway.test`],
          [1, `https://gateway.test/v1?key=${KEY}`],
        ] as const) {
          const { code, stderr, stdout } = yield* ended(folder, ["config", "proxy"], { PROVIDER1_BASE_URL: url })
          assert.deepStrictEqual([code, stdout.includes("PROVIDER1_BASE_URL")], [status, true])
          assert.notInclude(stdout + stderr, KEY)
        }
      }),
  )

  it.live("name the same key file for keygen, pin and commands that call this folder's proxy", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const env = { ATTESTATION_KEY_FILE: "k.pem" }
      const made = yield* ended(folder, ["keygen", "--json"], env)
      const { kid } = JSON.parse(made.stdout) as { readonly kid: string }
      assert.strictEqual((yield* ended(folder, ["pin"], env)).stdout, kid)
      const asked = yield* ended(folder, ["chat", "Hi", "--proxy", "http://127.0.0.1:9"], env)
      assert.include(asked.stderr, kid)
      // A proxy elsewhere is not this folder's.
      const elsewhere = yield* ended(folder, ["chat", "Hi", "--proxy", "http://192.0.2.1:9"], env)
      assert.include(elsewhere.stderr, "The proxy's pin is missing")
    }),
  )

  it.live("replace clients' flags, and accept a console's link or a base URL as the address", () =>
    Effect.gen(function* () {
      const proxy = yield* Processes.runProxy()
      const folder = yield* temporaryFolder
      const env = { SEALGATE_PROXY: proxy.url, SEALGATE_PIN: proxy.kid }
      const answered = yield* ended(folder, ["chat", "Hello there"], env)
      assert.deepStrictEqual([answered.code, answered.stdout], [0, "Hello there"])
      const link = `${proxy.url}/console#pin=${proxy.kid}`
      for (const args of [
        ["chat", "Hello there", "--proxy", `${proxy.url}/v1`, "--pin", proxy.kid],
        ["chat", "Hello there", "--proxy", link],
        ["doctor", "--proxy", link],
      ]) {
        const { code, stderr } = yield* ended(folder, args, { SEALGATE_PIN: PIN })
        assert.strictEqual(code, 0, stderr)
      }
    }),
  )

  it.live("come from a file in the current folder only if --config names it; otherwise a notice says so", () =>
    Effect.gen(function* () {
      const heard: Array<string> = []
      const url = yield* answering((response, request) => {
        heard.push(`${request.url} ${JSON.stringify(request.headers)}`)
        response.end()
      })
      const folder = yield* temporaryFolder
      const addresses = { SEALGATE_PROXY: url, SEALGATE_PIN: PIN, SEALGATE_GATEWAY: url, PROVIDER1_BASE_URL: url }
      writeFileSync(join(folder, "sealgate.config.json"), JSON.stringify(addresses))
      writeFileSync(
        join(folder, ".env"),
        Object.entries(addresses)
          .map(([name, value]) => `${name}=${value}\n`)
          .join(""),
      )
      const own = { SEALGATE_CREDENTIAL: KEY, SEALGATE_TOKEN: KEY, PROVIDER1_API_KEY: KEY }
      for (const args of [["chat", "Hi", "--pin", PIN], ["agents"], ["models"]]) {
        const { stderr } = yield* ended(folder, args, own)
        assert.include(stderr, "sealgate.config.json in this folder is not used")
      }
      const shown = yield* ended(folder, ["config"], own)
      assert.notInclude(shown.stdout, url)
      assert.deepStrictEqual(heard, [])
      const named = yield* ended(folder, ["agents", "--config", "sealgate.config.json"], own)
      assert.notInclude(named.stderr, "is not used")
      assert.strictEqual(heard.length, 1)
    }),
  )

  it.live("stop a command if a file of settings is invalid, but not its help", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      writeFileSync(join(folder, "settings"), JSON.stringify({ PORT: { is: 1 }, OPENAI_API_KEY: KEY }))
      const failed = yield* ended(folder, ["pin", "--config", "settings"])
      assert.strictEqual(failed.code, 2)
      for (const part of ["PORT: expected a string", "PROVIDER1_API_KEY?"]) assert.include(failed.stderr, part)
      assert.notInclude(failed.stderr, KEY)
      assert.strictEqual((yield* ended(folder, ["pin", "--config", "settings", "--help"])).code, 0)
    }),
  )
})

describe("arguments after --", () => {
  const portWith = (args: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      return Option.getOrUndefined(yield* Config.option(Config.String("PORT")))
    }).pipe(Effect.provide(layerSources(args, {})))

  it.live("are another command's: their --config is not read, and their --help and -v do not skip ours", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "settings.env")
      writeFileSync(file, "PORT=3001\n")
      const args = ["conformance", "client"]
      assert.isUndefined(yield* portWith([...args, "--", "cat", "--config", "/nowhere/x.toml"]))
      for (const theirs of ["-v", "--help", "--completions"]) {
        assert.strictEqual(yield* portWith([...args, "--config", file, "--", "cat", theirs]), "3001")
      }
    }),
  )

  it("reach the command unchanged", () => {
    const args = ["client", "--pin", PIN, "--", "cat", "--pin", PIN]
    assert.deepStrictEqual(joinPins(args), ["client", `--pin=${PIN}`, "--", "cat", "--pin", PIN])
  })
})

describe("the address of a proxy or gateway", () => {
  it.live("with a user or password is refused, and not quoted", () =>
    Effect.gen(function* () {
      const url = "http://user:hunter2@127.0.0.1:9"
      const refused = Effect.fnUntraced(function* (args: ReadonlyArray<string>, env: Readonly<Record<string, string>>) {
        const { code, stderr, stdout } = yield* Effect.provideService(
          run(sealgate, args),
          ConfigProvider.ConfigProvider,
          ConfigProvider.fromEnvRecord(env),
        )
        assert.notStrictEqual(code, 0, args.join(" "))
        assert.include(stdout + stderr, "an http or https URL without user and password", args.join(" "))
        assert.notInclude(stdout + stderr, "hunter2")
      })
      for (const args of [
        ["chat", "Hi", "--pin", PIN, "--proxy", url],
        ["doctor", "--operator", url],
        ["agents", "--gateway", url],
        ["attest", "show", url],
        ["conformance", "proxy", url],
      ]) {
        yield* refused(args, {})
      }
      yield* refused(["models"], { SEALGATE_PROXY: url })
      yield* refused(["agents"], { SEALGATE_GATEWAY: url, SEALGATE_TOKEN: KEY })
    }),
  )
})

describe("names of settings", () => {
  const read = (env: Readonly<Record<string, string>>) =>
    Effect.gen(function* () {
      return Option.getOrUndefined(yield* Config.option(Config.String("PORT")))
    }).pipe(Effect.provide(layerSources([], env)), Effect.result)

  it.effect("that are unknown and begin with PROVIDER or SEALGATE are refused with a suggestion", () =>
    Effect.gen(function* () {
      for (const [typed, meant] of [
        ["PROVIDER1_APIKEY", "PROVIDER1_API_KEY"],
        ["PROVIDER1_URL", "PROVIDER1_BASE_URL"],
        ["PROVDER1_API_KEY", "PROVIDER1_API_KEY"],
        ["SEALGATE_PINS", "SEALGATE_PIN"],
        ["SEALGTE_PIN", "SEALGATE_PIN"],
        ["provider1_api_key", "PROVIDER1_API_KEY"],
      ] as const) {
        const result = yield* read({ [typed]: KEY })
        assert.isTrue(Result.isFailure(result), typed)
        if (!Result.isFailure(result)) continue
        assert.include(result.failure.message, `${typed}: there is no such setting; did you mean ${meant}?`)
        assert.notInclude(result.failure.message, KEY)
        assert.lengthOf(parseFile(`${typed}=${KEY}`).mistakes, 1)
      }
    }),
  )

  it.effect(
    "that belong to other programs, are empty or come from Kubernetes for a service called sealgate are ignored",
    () =>
      Effect.gen(function* () {
        const result = yield* read({
          PORT: "1",
          PROVIDER: "aws",
          PROVIDERS: "aws,azure",
          SEAGATE_HOST: "x",
          port: "2",
          http_proxy: "http://127.0.0.1:3128",
          POSTGRES_PASSWORD: "x",
          PROVIDER5_API_KEY: " ",
          SEALGATE_PROXY_SERVICE_HOST: "10.0.0.1",
          SEALGATE_PROXY_SERVICE_PORT_HTTP: "3001",
          SEALGATE_PROXY_PORT: "tcp://10.0.0.1:3001",
          SEALGATE_PROXY_PORT_3001_TCP_ADDR: "10.0.0.1",
        })
        assert.deepStrictEqual(result, Result.succeed("1"))
      }),
  )
})

describe("files of NAME=value lines", () => {
  it("may be UTF-8 or UTF-16, with or without a byte order mark", () => {
    const utf16 = Buffer.from("\ufeffPORT=1\r\n", "utf16le")
    for (const bytes of [Buffer.from("PORT=1\n"), Buffer.from("\ufeffPORT=1\n"), utf16, Buffer.from(utf16).swap16()]) {
      const text = decodeTextFile(bytes)
      assert.deepStrictEqual(parseEnvFile(text ?? ""), { values: { PORT: "1" }, mistakes: [] })
    }
    for (const bytes of [utf16.subarray(2), Buffer.from([0x50, 0xff])]) assert.isUndefined(decodeTextFile(bytes))
  })

  it("accept quoted values, comments after a space, and export before a name", () => {
    const { mistakes, values } = parseEnvFile(
      "\n # a comment\nexport A=1\nB = two words # comment\nC='#x' # comment\nD=\"it's\"\nE=a#b\nF=\nG=a=b\r\nH=x'y\n",
    )
    assert.deepStrictEqual(mistakes, [])
    assert.deepStrictEqual(values, {
      A: "1",
      B: "two words",
      C: "#x",
      D: "it's",
      E: "a#b",
      F: "",
      G: "a=b",
      H: "x'y",
    })
  })

  it("are refused with their numbers if lines are invalid", () => {
    const { mistakes } = parseEnvFile(`PORT=1\n${KEY}\nA B=1\n=1\nC="x\nD='x'y\n`)
    assert.deepStrictEqual(
      mistakes.map((mistake) => mistake.slice(0, 7)),
      ["line 2:", "line 3:", "line 4:", "line 5:", "line 6:"],
    )
    assert.notInclude(mistakes.join(""), KEY)
  })
})

describe("a value of a setting", () => {
  it.effect("is refused in quotes, which Docker's --env-file keeps as part of the value", () =>
    Effect.gen(function* () {
      for (const text of [`"${KEY}"`, `'${KEY}'`]) {
        const error = yield* Effect.flip(decodeSettings({ key: proxySettings.provider1ApiKey })).pipe(
          Effect.provideService(
            ConfigProvider.ConfigProvider,
            ConfigProvider.fromEnvRecord({ PROVIDER1_API_KEY: text }),
          ),
        )
        assert.include(error.message, "PROVIDER1_API_KEY: expected a value without quotes around it")
        assert.notInclude(error.message, KEY)
      }
    }),
  )
})

describe("names in a file", () => {
  it("are refused if they are close to a setting, or its beginning", () => {
    for (const [typed, meant] of [
      ["JWT_SECERT", "JWT_SECRET"],
      ["ALOWED_HOSTS", "ALLOWED_HOSTS"],
      ["ALLOWED_HOST", "ALLOWED_HOSTS"],
      ["DATABASE_URI", "DATABASE_URL"],
      ["PORTT", "PORT"],
      ["PROT", "PORT"],
      ["port", "PORT"],
      ["LOGLEVEL", "LOG_LEVEL"],
      ["CALLER_KEYS", "CALLER_KEYS_FILE"],
      ["CALLERS_KEYS_FILE", "CALLER_KEYS_FILE"],
      ["TRUSTED_PROXY", "TRUSTED_PROXIES"],
      ["TLS_CERT", "TLS_CERT_FILE"],
      ["TLS_CA_FILE", "TLS_CLIENT_CA_FILE"],
    ] as const) {
      const expected = [`${typed}: there is no such setting; did you mean ${meant}?`]
      assert.deepStrictEqual(parseFile(`PORT=1\n${typed}=${KEY}\n`).mistakes, expected)
    }
  })

  it("are ignored if they may belong to another program", () => {
    const names =
      "HOME PATH SECRET TAG VERSION API_KEY PGHOST PGPORT SSL_CERT_FILE NODE_ENV http_proxy https_proxy no_proxy " +
      "GROQ_API_KEY OPENAI_API_KEY POSTGRES_PASSWORD OTEL_SERVICE_NAME OTEL_EXPORTER_OTLP_HEADERS OTEL_LOG_LEVEL " +
      "DATABASE_USER DATABASE_TEST_URL DATABASE_READ_URL JWT_SECRET_KEY JWT_ISSUER_URL LOG_LEVEL_SQL " +
      "OTEL_EXPORTER_OTLP_TRACES_HEADERS OTEL_EXPORTER_OTLP_TRACES_TIMEOUT OTEL_EXPORTER_OTLP_INSECURE OTEL_BLRP_TIMEOUT"
    assert.deepStrictEqual(
      parseFile(
        names
          .split(" ")
          .map((name) => `${name}=x\n`)
          .join(""),
      ).mistakes,
      [],
    )
  })

  it("suggests the name if one letter is missing, added, wrong or swapped, but not for another word", () => {
    const names = [...VARIABLES]
    for (const name of names.filter(({ length }) => length > 6)) {
      for (const typed of [
        name.slice(1),
        `${name}X`,
        name.toLowerCase().replaceAll("_", "-"),
        `${name[1]}${name[0]}${name.slice(2)}`,
      ]) {
        if (!VARIABLES.has(typed)) assert.strictEqual(nearest(typed, names)?.length === undefined, false, typed)
      }
      assert.strictEqual(nearest(name, names), name)
    }
    for (const other of ["SOMETHING_ELSE_ALTOGETHER", "SEALGATE_URL"])
      assert.strictEqual(nearest(other, names), undefined)
  })

  it("accepts every setting in a JSON file", () => {
    const all = Object.fromEntries([...VARIABLES].map((name) => [name, "x"]))
    assert.deepStrictEqual(parseFile(JSON.stringify(all)), { values: all, mistakes: [] })
  })
})
