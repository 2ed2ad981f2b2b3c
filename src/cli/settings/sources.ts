/**
 * Where every command finds its settings: the environment, else a file of `--env-file`, else sealgate.config.json. What
 * is empty counts as absent in each of them.
 */
import { readFileSync } from "node:fs"
import { parseEnv } from "node:util"
import { ConfigProvider, Effect, Layer, Result } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { isObject, parseJson } from "../../domain/json.ts"
import { SettingOrigin } from "../../layers/config/Setting.ts"
import { type CommandFailed, unusable } from "../CommandFailed.ts"
import { ownNameOf, VARIABLES } from "./knownSettings.ts"
import { nearest } from "./nearest.ts"

/** Read where it is, and missed by nobody where it is not. */
const CONFIG_FILE = "sealgate.config.json"

const fileFlag = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar("file"), Flag.withDescription(description), Flag.optional)

/** For help and for the parser; the files are read before it, because the parser may need what is in them. */
export const SOURCE_FLAGS = [
  GlobalFlag.Setting("env-file")({
    flag: fileFlag("env-file", "File of settings as NAME=value lines, for what the environment does not have"),
  }),
  GlobalFlag.Setting("config")({
    flag: fileFlag("config", `JSON file of settings, for what neither has (default ${CONFIG_FILE}, if it is there)`),
  }),
]

/** The value of a flag that may stand anywhere. */
const flagIn = (args: ReadonlyArray<string>, name: string): string | undefined => {
  const at = args.indexOf(name)
  return at >= 0 ? args[at + 1] : args.find((arg) => arg.startsWith(`${name}=`))?.slice(name.length + 1)
}

const NOTHING_THERE = "ENOENT"

const textOf = (file: string, flag: string | undefined): Effect.Effect<string | undefined, CommandFailed> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(readFileSync(file, "utf8"))
    } catch (error) {
      const missing = error instanceof Error && "code" in error && error.code === NOTHING_THERE
      if (missing && flag === undefined) return Effect.succeed(undefined)
      const why = missing ? "there is no such file" : "it cannot be read"
      return Effect.fail(unusable(`${file}: ${why}.${flag === undefined ? "" : ` Check ${flag}.`}`))
    }
  })

/** The text that a value of the JSON file is as a variable. */
const asText = (value: unknown): string | undefined => {
  if (typeof value === "string") return value
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  return Array.isArray(value) && value.every((part) => typeof part === "string") ? value.join(",") : undefined
}

const mistakeOf = (name: string, value: unknown): string | undefined => {
  if (!VARIABLES.has(name)) {
    const meant = ownNameOf(name) ?? nearest(name, [...VARIABLES])
    return `there is no such setting${meant === undefined ? "; `sealgate config --all` lists them" : `; did you mean ${meant}?`}`
  }
  return asText(value) === undefined ? "expected a text, a number, true or false, or a list of texts" : undefined
}

/** What a configuration file says. Each of its members is checked, because one that nobody reads would be a mistake unseen. */
export const readConfig = (
  file: string,
  text: string,
): Result.Result<Readonly<Record<string, string>>, CommandFailed> => {
  const value = parseJson(text)
  if (!isObject(value)) {
    return Result.fail(unusable(`${file} is not JSON of settings: expected an object such as {"PORT": 3001}.`))
  }
  const mistakes = Object.entries(value).flatMap(([name, member]) => {
    const mistake = mistakeOf(name, member)
    return mistake === undefined ? [] : [`  ${name}: ${mistake}`]
  })
  return mistakes.length === 0
    ? Result.succeed(Object.fromEntries(Object.entries(value).map(([name, member]) => [name, asText(member) ?? ""])))
    : Result.fail(
        unusable(
          `${file} has ${mistakes.length === 1 ? "a mistake" : `${mistakes.length} mistakes`}:\n${mistakes.join("\n")}`,
        ),
      )
}

interface Source {
  readonly origin: string
  readonly values: Readonly<Record<string, string | undefined>>
}

const ENVIRONMENT = "the environment"

const sourcesOf = Effect.fnUntraced(function* (args: ReadonlyArray<string>, env: Source["values"]) {
  const sources: Array<Source> = [{ origin: ENVIRONMENT, values: env }]
  const envFile = flagIn(args, "--env-file")
  if (envFile !== undefined) {
    sources.push({ origin: envFile, values: parseEnv((yield* textOf(envFile, "--env-file")) ?? "") })
  }
  const given = flagIn(args, "--config")
  const config = given ?? CONFIG_FILE
  const text = yield* textOf(config, given === undefined ? undefined : "--config")
  if (text !== undefined) sources.push({ origin: config, values: yield* Effect.fromResult(readConfig(config, text)) })
  return sources
})

/** Commands that only say how they are called need no settings, and are asked for when those are wrong. */
const ONLY_TELLS = /^(--help|-h|--version|-v|--completions(=.*)?)$/

/** Settings as a command line says where to find them. */
export const layerSources = (args: ReadonlyArray<string>, env: Source["values"] = process.env) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const sources = args.some((arg) => ONLY_TELLS.test(arg))
        ? [{ origin: ENVIRONMENT, values: env }]
        : yield* sourcesOf(args, env)
      const values: Record<string, string> = {}
      const origins = new Map<string, string>()
      for (const source of sources) {
        for (const [name, value] of Object.entries(source.values)) {
          if (value === undefined || value.trim() === "" || origins.has(name)) continue
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
