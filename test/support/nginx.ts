/** Runs nginx, unprivileged and in a temporary folder, with the documented configuration. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { Effect } from "effect"
import { freePort } from "./freePort.ts"
import { temporaryFolder } from "./proxy.ts"

const COMMAND = "/usr/sbin/nginx"
const DOCUMENTED = readFileSync("deploy/nginx.conf", "utf8")

/** Ports of the documented configuration: its own, and those of the proxies in the order of their tags. */
const LISTEN = "listen 8080;"
const PROXIES = ["10.0.0.11:3001", "10.0.0.12:3001", "10.0.0.13:3001"] as const
export const TAGS = ["pxy1", "pxy2", "pxy3"] as const

export const hasNginx = existsSync(COMMAND)
export const NO_NGINX = `skipped: there is no ${COMMAND}`

/** The documented configuration with other ports. */
const sealgateConf = (port: number, proxies: ReadonlyArray<number>): string => {
  const replacements = [
    [LISTEN, `listen 127.0.0.1:${port};`],
    ...PROXIES.map((address, index) => [address, `127.0.0.1:${proxies[index]}`] as const),
  ] as const
  return replacements.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the documented configuration lacks ${from}`)
    return text.replaceAll(from, to)
  }, DOCUMENTED)
}

/** The frame that a distribution's nginx.conf provides. */
const mainConf = (folder: string): string => {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  )
  return [
    "worker_processes 1;",
    `pid ${join(folder, "nginx.pid")};`,
    "error_log stderr warn;",
    "events { worker_connections 1024; }",
    `http { access_log off; ${temporary.join(" ")} include ${join(folder, "sealgate.conf")}; }`,
  ].join("\n")
}

const configure = Effect.fnUntraced(function* (proxies: ReadonlyArray<number>) {
  const folder = yield* temporaryFolder
  const port = yield* Effect.promise(freePort)
  yield* Effect.promise(async () => {
    await writeFile(join(folder, "sealgate.conf"), sealgateConf(port, proxies))
    await writeFile(join(folder, "nginx.conf"), mainConf(folder))
  })
  return { port, args: ["-p", folder, "-e", "stderr", "-c", join(folder, "nginx.conf")] }
})

/** Runs `nginx -t` on the documented configuration. */
export const checkNginx = Effect.gen(function* () {
  const { args } = yield* configure([3001, 3002, 3003])
  const { status, stderr } = spawnSync(COMMAND, ["-t", ...args], { encoding: "utf8" })
  return { status, stderr }
})

const untilItAnswers = async (url: string, exited: () => boolean) => {
  for (;;) {
    if (exited()) throw new Error("nginx did not start")
    const answered = await fetch(`${url}/metrics`).then(
      ({ status }) => status === 404,
      () => false,
    )
    if (answered) return
    await setTimeout(20)
  }
}

/** Starts nginx before proxies on these ports, until the scope closes. */
export const runNginx = Effect.fnUntraced(function* (proxies: ReadonlyArray<number>) {
  const { args, port } = yield* configure(proxies)
  const log: Array<string> = []
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(COMMAND, [...args, "-g", "daemon off;"], { stdio: ["ignore", "ignore", "pipe"] })
      child.stderr.setEncoding("utf8").on("data", (text: string) => log.push(text))
      return child
    }),
    (child) =>
      Effect.promise(async () => {
        if (child.exitCode !== null) return
        child.kill("SIGTERM")
        await once(child, "exit")
      }),
  )
  const url = `http://127.0.0.1:${port}`
  yield* Effect.promise(() => untilItAnswers(url, () => child.exitCode !== null))
  return { url, log }
})
