/** A private Postgres that a test can stop, kill, freeze and restart. */
import { spawn, spawnSync } from "node:child_process"
import { chownSync, existsSync, globSync, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { layerPostgresClient } from "../../src/layers/database/PostgresClient.ts"
import { makeCertificate } from "./certificates.ts"
import { freePort } from "./freePort.ts"
import { temporaryFolder } from "./proxy.ts"

/** The newest installed version. */
const BINARIES = globSync("/usr/lib/postgresql/*/bin")
  .sort((a, b) => a.localeCompare(b, undefined, { numeric: true }))
  .at(-1)

/** User for Postgres, which refuses to run as root. */
const OWNER = "postgres"
const isRoot = process.getuid?.() === 0

const idOf = (flag: "-u" | "-g"): number | undefined => {
  const { status, stdout } = spawnSync("id", [flag, OWNER], { encoding: "utf8" })
  return status === 0 ? Number(stdout) : undefined
}
const owner = isRoot ? { uid: idOf("-u"), gid: idOf("-g") } : undefined

/** True if Postgres and a user to run it exist. */
export const postgresCanStart: boolean =
  BINARIES !== undefined &&
  existsSync(join(BINARIES, "initdb")) &&
  (owner === undefined || (owner.uid !== undefined && owner.gid !== undefined))
if (!postgresCanStart) {
  console.warn("! no Postgres in /usr/lib/postgresql that could be started: tests that stop it are skipped")
}

export interface PrivatePostgres {
  readonly url: string
  readonly start: Effect.Effect<void>
  /** `fast`: closes connections properly. `immediate`: like a crash. */
  readonly stop: (mode: "fast" | "immediate") => Effect.Effect<void>
  /** Accepts connections and statements, and answers none. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
}

const runAsOwner = (binary: string, args: ReadonlyArray<string>, cwd: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const command = spawn(join(BINARIES ?? "", binary), args, {
      cwd,
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env["PATH"], LC_ALL: "C" },
      ...(owner?.uid === undefined ? {} : { uid: owner.uid }),
      ...(owner?.gid === undefined ? {} : { gid: owner.gid }),
    })
    let errors = ""
    command.stderr.on("data", (data: Buffer) => (errors += data.toString()))
    command.once("error", reject)
    // Not "close": the server started by `pg_ctl` may keep the pipe open.
    command.once("exit", (code) => {
      command.stderr.destroy()
      if (code === 0) resolve()
      else reject(new Error(`${binary} failed with ${code}: ${errors}`))
    })
  })

/** The server and all its processes. */
const processesOf = (data: string): ReadonlyArray<number> => {
  const postmaster = Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0])
  const { stdout } = spawnSync("ps", ["-o", "pid=", "--ppid", `${postmaster}`], { encoding: "utf8" })
  return [postmaster, ...stdout.split("\n").flatMap((line) => (line.trim() === "" ? [] : [Number(line)]))]
}

const giveToOwner = (path: string): void => {
  if (owner?.uid !== undefined && owner.gid !== undefined) chownSync(path, owner.uid, owner.gid)
}

/** Starts Postgres on a free port with an empty database, until the scope closes. */
export const privatePostgres = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const data = join(folder, "data")
  const port = yield* Effect.promise(freePort)
  yield* Effect.sync(() => {
    mkdirSync(data, { mode: 0o700 })
    for (const path of [folder, data]) giveToOwner(path)
  })
  const control = (...args: ReadonlyArray<string>) =>
    Effect.promise(() => runAsOwner("pg_ctl", ["-D", data, "-w", "-t", "60", "-s", ...args], folder))
  const initialise = ["-D", data, "-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-instructions"]
  yield* Effect.promise(() => runAsOwner("initdb", initialise, folder))

  const options = `-p ${port} -c listen_addresses=127.0.0.1 -k ${folder} -c log_min_messages=fatal`
  const start = control("start", "-l", join(folder, "log"), "-o", options)
  const stop = (mode: "fast" | "immediate") => control("stop", "-m", mode)
  const signal = (name: NodeJS.Signals) =>
    Effect.sync(() => {
      for (const pid of processesOf(data)) sendTo(pid, name)
    })

  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      if (!existsSync(join(data, "postmaster.pid"))) return Effect.void
      return Effect.andThen(signal("SIGCONT"), stop("immediate"))
    }),
  )
  yield* start
  return {
    url: `postgres://${OWNER}@127.0.0.1:${port}/postgres`,
    start,
    stop,
    freeze: signal("SIGSTOP"),
    thaw: signal("SIGCONT"),
  } satisfies PrivatePostgres
})

/** Runs statements in a session of their own. */
export const runOn = (url: string, ...texts: ReadonlyArray<string>) =>
  SqlClient.SqlClient.use((sql) => Effect.forEach(texts, (text) => sql.unsafe<Record<string, unknown>>(text))).pipe(
    Effect.provide(layerPostgresClient({ url: Redacted.make(url), maxConnections: 1 }), { local: true }),
    Effect.orDie,
  )

/** Makes a server read-only, as a failover does, or ends that. Later sessions are so; earlier ones follow shortly. */
export const setReadOnly = (url: string, setting: "on" | "off") =>
  runOn(url, `ALTER SYSTEM SET default_transaction_read_only = ${setting}`, "SELECT pg_reload_conf()").pipe(
    Effect.andThen(
      runOn(url, "SELECT current_setting('transaction_read_only') AS state").pipe(
        Effect.repeat({ until: ([rows]) => rows?.[0]?.["state"] === setting }),
      ),
    ),
    Effect.asVoid,
  )

/** Ignores processes that have ended since the search, such as those of connections. */
const sendTo = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

/** Makes a server offer TLS with a certificate that nobody trusts. */
export const offerTls = Effect.fnUntraced(function* (url: string) {
  const folder = yield* temporaryFolder
  const { cert, key } = makeCertificate(folder, "postgres")
  for (const path of [folder, cert, key]) giveToOwner(path)
  yield* runOn(
    url,
    `ALTER SYSTEM SET ssl_cert_file = '${cert}'`,
    `ALTER SYSTEM SET ssl_key_file = '${key}'`,
    "ALTER SYSTEM SET ssl = on",
    "SELECT pg_reload_conf()",
  )
  yield* Effect.repeat(runOn(url, "SHOW ssl"), { until: ([rows]) => rows?.[0]?.["ssl"] === "on" })
})
