/** Parameters of DATABASE_URL, and the warning that the connection has no TLS. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Redacted } from "effect"
import { hostWithoutTls } from "../../../src/layers/config/postgresUrl.ts"
import { Gateway } from "../../../src/layers/Gateway.ts"
import { SECRET } from "../../support/gateway.ts"
import { run } from "../../support/processes.ts"

const gatewayOn = (url: string) =>
  Gateway.settings().pipe(
    Effect.provideService(
      ConfigProvider.ConfigProvider,
      ConfigProvider.fromEnvRecord({ JWT_SECRET: SECRET, DATABASE_URL: url }),
    ),
  )

const mistakeIn = (url: string) =>
  Effect.map(Effect.flip(gatewayOn(url)), ({ mistakes }) => mistakes.map(({ problem }) => problem).join())

describe("DATABASE_URL", () => {
  it.effect("takes the parameters that the driver reads", () =>
    Effect.gen(function* () {
      const options = "application_name=a&connect_timeout=5&options=-c%20statement_timeout%3D5s"
      const place = "host=%2Frun%2Fpostgresql&port=5433&user=u&password=p&dbname=d"
      for (const mode of ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]) {
        const { databaseUrl } = yield* gatewayOn(`postgres://db.example/jobs?sslmode=${mode}&${options}&${place}`)
        assert.strictEqual(databaseUrl.kind, "postgres")
      }
    }),
  )

  it.effect("refuses a parameter that would be ignored, names it, and lists the known ones", () =>
    Effect.gen(function* () {
      for (const name of ["sslrootcert", "target_session_attrs", "SSLMODE"]) {
        const mistake = yield* mistakeIn(`postgres://u:canary@db.example/jobs?sslmode=require&${name}=canary`)
        if (name !== "SSLMODE") assert.include(mistake, `: ${name}; known are application_name, connect_timeout, `)
        assert.include(mistake, "NODE_EXTRA_CA_CERTS")
        assert.notInclude(mistake, "canary")
      }
      assert.include(yield* mistakeIn("postgres://db.example/jobs?sslmode=required"), "unknown sslmode")
    }),
  )

  it.effect("refuses channel binding unless it is off, and says what to do", () =>
    Effect.gen(function* () {
      const mistake = yield* mistakeIn("postgres://db.example/jobs?sslmode=require&channel_binding=require")
      assert.include(mistake, "remove channel_binding")
      assert.include(mistake, "sslmode=require")
      assert.include(yield* mistakeIn("postgres://db.example/jobs?channel_binding=prefer"), "remove channel_binding")
      yield* gatewayOn("postgres://db.example/jobs?channel_binding=disable")
    }),
  )

  it.effect("does not quote a name that may be part of a password with a question mark", () =>
    Effect.gen(function* () {
      const mistake = yield* mistakeIn("postgres://u:12?canary&canary@db.example/jobs")
      assert.include(mistake, "ignored")
      assert.notInclude(mistake, "canary")
    }),
  )

  it("reaches another machine without TLS unless sslmode decides, it is on loopback, or names a socket", () => {
    const hostOf = (url: string) => hostWithoutTls(Redacted.make(url))
    for (const [url, host] of [
      ["postgres://u:p@db.example:5432/jobs", "db.example"],
      ["postgresql://10.0.0.30/jobs?application_name=a", "10.0.0.30"],
      ["postgres://[fd00::2]/jobs", "fd00::2"],
      ["postgres:///jobs?host=db.example", "db.example"],
      ["postgres://localhost/jobs?host=fd00::2", "fd00::2"],
      ["postgres://db.example/jobs?sslmode=prefer", "db.example"],
      ["postgres://db.example/jobs?sslmode=require&sslmode=allow", "db.example"],
    ] as const) {
      assert.strictEqual(hostOf(url), host, url)
    }
    for (const url of [
      "postgres://db.example/jobs?sslmode=require",
      "postgres://db.example/jobs?sslmode=disable",
      "postgres://localhost/jobs",
      "postgres://127.0.0.1:5432/jobs",
      "postgres://[::1]/jobs",
      "postgres:///jobs",
      "postgres:///jobs?host=/run/postgresql",
      "postgres://%2Frun%2Fpostgresql/jobs",
    ]) {
      assert.isUndefined(hostOf(url), url)
    }
  })

  // 192.0.2.1 is reserved for documentation (RFC 5737): nothing answers there.
  const start = (parameters: string) =>
    run(["gateway"], {
      env: {
        PORT: "0",
        HOST: "127.0.0.1",
        JWT_SECRET: SECRET,
        DATABASE_URL: `postgres://u:canary@192.0.2.1/jobs?connect_timeout=1${parameters}`,
      },
    })

  it.live("without TLS on another machine is a warning at start, which says what to add", () =>
    Effect.gen(function* () {
      const gateway = yield* start("")
      const warning = yield* Effect.promise(() =>
        gateway.line((line) => (line.includes("not encrypted") ? line : undefined)),
      )
      for (const part of ["192.0.2.1", "sslmode=require", "NODE_EXTRA_CA_CERTS", "sslmode=disable"]) {
        assert.include(warning, part)
      }
      assert.notInclude(warning, "canary")
    }),
  )

  it.live("with sslmode=disable starts without that warning", () =>
    Effect.gen(function* () {
      const gateway = yield* start("&sslmode=disable")
      yield* Effect.promise(() => gateway.line((line) => (line.includes("waiting up to") ? true : undefined)))
      assert.notInclude([...gateway.stdout, ...gateway.stderr].join("\n"), "not encrypted")
    }),
  )
})
