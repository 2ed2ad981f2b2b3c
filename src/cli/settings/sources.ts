/**
 * Sources of settings: the environment, then the files of `--config` in their order. No other file is read: the author
 * of the current folder could redirect secrets to their own servers.
 */
import { existsSync, readFileSync } from "node:fs"
import { resolve } from "node:path"
import { ConfigProvider, Console, Effect, Layer, Result } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { isObject, parseJson } from "../../domain/json/json.ts"
import { fileReason } from "../../domain/problems/systemErrors.ts"
import { SettingOrigin } from "../../layers/config/Setting.ts"
import { type CommandFailed, unusable } from "../CommandFailed.ts"
import { dimOnStderr } from "../terminal.ts"
import { parseEnvFile } from "./envFile.ts"
import { ownNameOf, VARIABLES } from "./knownSettings.ts"
import { nearest } from "./nearest.ts"
import { decodeTextFile } from "./textFile.ts"

/** A file name that users expect to be read automatically. */
const CONFIG_FILE = "sealgate.config.json"

const FLAG = "--config"

/** Declares the flag for help and the parser. The files are read before parsing, which may need their settings. */
export const SOURCE_FLAGS = [
  GlobalFlag.Setting("config")({
    flag: Flag.String("config").pipe(
      Flag.withMetavar("file"),
      Flag.withDescription(
        "File of settings that the environment does not have: NAME=value lines or JSON; may be repeated",
      ),
      Flag.atLeast(0),
    ),
  }),
]

/** Returns the values of a flag, wherever it stands. */
const flagsIn = (args: ReadonlyArray<string>, name: string): ReadonlyArray<string> =>
  args.flatMap((arg, i) =>
    arg.startsWith(`${name}=`) ? [arg.slice(name.length + 1)] : i > 0 && args[i - 1] === name ? [arg] : [],
  )

const readText = (file: string): Result.Result<string, CommandFailed> =>
  Result.try({
    try: () => readFileSync(file),
    catch: (error) => unusable(`${file}: ${fileReason(error)}. Check ${FLAG}.`),
  }).pipe(
    Result.flatMap((bytes) => {
      const text = decodeTextFile(bytes)
      return text === undefined
        ? Result.fail(unusable(`${file} is not text in UTF-8 or UTF-16. Check ${FLAG}.`))
        : Result.succeed(text)
    }),
  )

/** Converts a JSON value to the text of a variable. */
const asText = (value: unknown): string | undefined => {
  if (typeof value === "string") return value
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  return Array.isArray(value) && value.every((part) => typeof part === "string") ? value.join(",") : undefined
}

const unknownName = (name: string): string => {
  const meant = ownNameOf(name) ?? nearest(name, [...VARIABLES])
  return `there is no such setting${meant === undefined ? "; `sealgate config --all` lists them" : `; did you mean ${meant}?`}`
}

interface Source {
  readonly origin: string
  readonly values: Readonly<Record<string, string | undefined>>
}

type Values = Readonly<Record<string, string>>

const orMistakes = <A>(where: string, value: A, mistakes: ReadonlyArray<string>): Result.Result<A, CommandFailed> =>
  mistakes.length === 0
    ? Result.succeed(value)
    : Result.fail(
        unusable(
          `${where} has ${mistakes.length === 1 ? "a mistake" : `${mistakes.length} mistakes`}:\n  ${mistakes.join("\n  ")}`,
        ),
      )

const readJson = (file: string, text: string): Result.Result<Values, CommandFailed> => {
  const value = parseJson(text)
  if (!isObject(value)) {
    return Result.fail(unusable(`${file} is not a JSON object of settings, such as {"PORT": 3001}.`))
  }
  const members = Object.entries(value)
  const mistakes = members.flatMap(([name, member]) => {
    if (!VARIABLES.has(name)) return [`${name}: ${unknownName(name)}`]
    if (asText(member) !== undefined) return []
    return [`${name}: expected a string, a number, true or false, or a list of strings`]
  })
  return orMistakes(file, Object.fromEntries(members.map(([name, member]) => [name, asText(member) ?? ""])), mistakes)
}

/** Prefixes of sealgate's names. The environment and `NAME=value` files also hold other programs' variables. */
const OWN_NAME = /^(PROVIDER|SEALGATE)[_\d]/i

const PREFIXES = ["PROVIDER", "SEALGATE"]

/** Whether a name has a mistyped prefix before the rest of a known name. */
const hasMistypedPrefix = (name: string): boolean => {
  const word = /^[a-z]*/i.exec(name)?.[0] ?? ""
  const prefix = nearest(word, PREFIXES)
  return prefix !== undefined && VARIABLES.has(`${prefix}${name.slice(word.length).toUpperCase()}`)
}

const SERVICE_HOST = "SERVICE_HOST"

/** Kubernetes sets `<SERVICE>_SERVICE_…` and `<SERVICE>_PORT…`, and a service may be named sealgate. */
const isServiceLink = (name: string, names: ReadonlyArray<string>): boolean =>
  names.some((each) => {
    if (!each.endsWith(`_${SERVICE_HOST}`)) return false
    const service = each.slice(0, -SERVICE_HOST.length)
    return name.startsWith(`${service}SERVICE_`) || name.startsWith(`${service}PORT`)
  })

const isEmpty = (value: string | undefined): boolean => value === undefined || value.trim() === ""

const mistypedIn = (values: Source["values"]): ReadonlyArray<string> => {
  const names = Object.keys(values).filter((name) => !isEmpty(values[name]))
  return names
    .filter((name) => (OWN_NAME.test(name) || hasMistypedPrefix(name)) && !VARIABLES.has(name))
    .filter((name) => !isServiceLink(name, names))
    .map((name) => `${name}: ${unknownName(name)}`)
}

/** Parses a file of settings. Unknown names are mistakes: all in JSON, those with sealgate's prefixes in lines. */
export const readConfig = (file: string, text: string): Result.Result<Values, CommandFailed> => {
  if (text.trimStart().startsWith("{")) return readJson(file, text)
  const { mistakes, values } = parseEnvFile(text)
  return orMistakes(file, values, [...mistakes, ...mistypedIn(values)])
}

const ENVIRONMENT = "the environment"

const sourcesOf = Effect.fnUntraced(function* (args: ReadonlyArray<string>, env: Source["values"]) {
  yield* Effect.fromResult(orMistakes("The environment", env, mistypedIn(env)))
  const sources: Array<Source> = [{ origin: ENVIRONMENT, values: env }]
  const files = flagsIn(args, FLAG)
  for (const file of files) {
    const text = yield* Effect.fromResult(readText(file))
    sources.push({ origin: file, values: yield* Effect.fromResult(readConfig(file, text)) })
  }
  if (existsSync(CONFIG_FILE) && !files.some((file) => resolve(file) === resolve(CONFIG_FILE))) {
    yield* Console.error(
      dimOnStderr(`(${CONFIG_FILE} in this folder is not used; if you trust it: ${FLAG} ${CONFIG_FILE})`),
    )
  }
  return sources
})

/** Help, version and completions need no settings, and must work when settings are wrong. */
const NEEDS_NONE = /^(--help|-h|--version|-v|--completions(=.*)?)$/

/** Provides the settings for a command line. */
export const layerSources = (args: ReadonlyArray<string>, env: Source["values"] = process.env) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const sources = args.some((arg) => NEEDS_NONE.test(arg))
        ? [{ origin: ENVIRONMENT, values: env }]
        : yield* sourcesOf(args, env)
      const values: Record<string, string> = {}
      const origins = new Map<string, string>()
      for (const source of sources) {
        for (const [name, value] of Object.entries(source.values)) {
          if (value === undefined || isEmpty(value) || origins.has(name)) continue
          values[name] = value
          origins.set(name, source.origin)
        }
      }
      return Layer.merge(
        ConfigProvider.layer(ConfigProvider.fromEnvRecord(values)),
        Layer.succeed(SettingOrigin, (variable) => origins.get(variable) ?? ENVIRONMENT),
      )
    }),
  )
