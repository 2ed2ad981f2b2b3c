/**
 * Sources of settings: the environment, then the files of `--config` in their order. No other file is read, because the
 * author of the current folder could redirect secrets to their own servers.
 */
import { existsSync, readFileSync } from "node:fs"
import { resolve } from "node:path"
import { ConfigProvider, Console, Effect, Layer } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { isObject, parseJson } from "../../domain/json/json.ts"
import { fileReason } from "../../domain/problems/systemErrors.ts"
import { SettingOrigin } from "../../layers/config/Setting.ts"
import { unusable } from "../CommandFailed.ts"
import { ownArgs } from "../flags.ts"
import { dimOnStderr } from "../terminal.ts"
import { type ParsedFile, parseEnvFile } from "./envFile.ts"
import { ownNameOf, SPELLINGS, VARIABLES } from "./knownSettings.ts"
import { isMistyped, nearest } from "./nearest.ts"
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

const asText = (value: unknown): string | undefined => {
  if (typeof value === "string") return value
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  return Array.isArray(value) && value.every((part) => typeof part === "string") ? value.join(",") : undefined
}

const nearestSetting = (name: string): string | undefined => nearest(name, [...VARIABLES])

const unknownName = (name: string): string => {
  const meant = ownNameOf(name) ?? nearestSetting(name)
  return `there is no such setting${meant === undefined ? "; `sealgate config --all` lists them" : `; did you mean ${meant}?`}`
}

interface Source {
  readonly origin: string
  readonly values: Readonly<Record<string, string | undefined>>
}

const parseJsonFile = (text: string): ParsedFile => {
  const value = parseJson(text)
  if (!isObject(value)) {
    return { values: {}, mistakes: ['it is not a JSON object of settings, such as {"PORT": 3001}'] }
  }
  const values: Record<string, string> = {}
  const mistakes: Array<string> = []
  for (const [name, member] of Object.entries(value)) {
    const text = asText(member)
    if (!VARIABLES.has(name)) mistakes.push(`${name}: ${unknownName(name)}`)
    else if (text !== undefined) values[name] = text
    else mistakes.push(`${name}: expected a string, a number, true or false, or a list of strings`)
  }
  return { values, mistakes }
}

/** Prefixes of sealgate's names. The environment and `NAME=value` files also hold other programs' variables. */
const OWN_NAME = /^(PROVIDER|SEALGATE)[_\d]/i

const PREFIXES = ["PROVIDER", "SEALGATE"]

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

const isOwn = (name: string): boolean => OWN_NAME.test(name) || hasMistypedPrefix(name)

const isCloseToSetting = (name: string): boolean => {
  const meant = nearestSetting(name)
  return meant !== undefined && isMistyped(name, meant)
}

const mistypedIn = (values: Source["values"], isMeant: (name: string) => boolean): ReadonlyArray<string> => {
  const names = Object.keys(values).filter((name) => !isEmpty(values[name]))
  return names
    .filter((name) => !VARIABLES.has(name) && !SPELLINGS.has(name) && isMeant(name))
    .filter((name) => !isServiceLink(name, names))
    .map((name) => `${name}: ${unknownName(name)}`)
}

/**
 * Parses a file of settings. Unknown names are mistakes: in JSON all of them, in `NAME=value` files those with a prefix
 * of sealgate.
 */
export const parseFile = (text: string): ParsedFile => {
  if (text.trimStart().startsWith("{")) return parseJsonFile(text)
  const { mistakes, values } = parseEnvFile(text)
  return { values, mistakes: [...mistakes, ...mistypedIn(values, (name) => isOwn(name) || isCloseToSetting(name))] }
}

const failIfAny = (mistakes: ReadonlyArray<string>, where: string) => {
  const count = mistakes.length === 1 ? "a mistake" : `${mistakes.length} mistakes`
  return mistakes.length === 0
    ? Effect.void
    : Effect.fail(unusable(`${where} has ${count}:\n  ${mistakes.join("\n  ")}`))
}

const readSource = Effect.fnUntraced(function* (file: string) {
  const bytes = yield* Effect.try({
    try: () => readFileSync(file),
    catch: (error) => unusable(`${file}: ${fileReason(error)}. Check ${FLAG}.`),
  })
  const text = decodeTextFile(bytes)
  if (text === undefined) return yield* unusable(`${file} is not text in UTF-8 or UTF-16. Check ${FLAG}.`)
  const { mistakes, values } = parseFile(text)
  yield* failIfAny(mistakes, file)
  const source: Source = { origin: file, values }
  return source
})

/** Warns that the settings of this folder are not used, because their author could redirect secrets. */
const noticeUnused = (files: ReadonlyArray<string>) =>
  existsSync(CONFIG_FILE) && !files.some((file) => resolve(file) === resolve(CONFIG_FILE))
    ? Console.error(dimOnStderr(`(${CONFIG_FILE} in this folder is not used; if you trust it: ${FLAG} ${CONFIG_FILE})`))
    : Effect.void

const ENVIRONMENT = "the environment"

/** Help, version and completions need no settings, and must work when settings are wrong. */
const NEEDS_NONE = /^(--help|-h|--version|-v|--completions(=.*)?)$/

/** Provides the settings for a command line. */
export const layerSources = (args: ReadonlyArray<string>, env: Source["values"] = process.env) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const sources: Array<Source> = [{ origin: ENVIRONMENT, values: env }]
      const own = ownArgs(args)
      if (!own.some((arg) => NEEDS_NONE.test(arg))) {
        yield* failIfAny(mistypedIn(env, isOwn), "The environment")
        const files = flagsIn(own, FLAG)
        sources.push(...(yield* Effect.forEach(files, readSource)))
        yield* noticeUnused(files)
      }
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
