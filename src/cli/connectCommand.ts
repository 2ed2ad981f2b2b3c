import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { isLoopback } from "../domain/access/hostName.ts"
import { DEFAULT_CONNECTOR_PORT } from "../layers/config/connectorSettings.ts"
import type { ConnectorSettings } from "../layers/Connector.ts"
import { unusable } from "./CommandFailed.ts"
import { credentialFileFlag, credentialFrom, ENVIRONMENT } from "./credential.ts"
import {
  givenOf,
  hostFlag,
  jsonFlag,
  logLevelFlag,
  optionalFlag,
  pinsFlag,
  portFlag,
  proxyFlag,
  switchFlag,
  trustOnFirstUseFlag,
  valueFlag,
} from "./flags.ts"
import { trustedProxy } from "./settings/proxyAddress.ts"
import { policyFlags, policyFrom } from "./attest/policyFlags.ts"
import { SERVER_EXITS, withHelp } from "./help/Guide.ts"

const LOOPBACK = "127.0.0.1"

const flags = {
  proxy: proxyFlag,
  pin: pinsFlag,
  trustOnFirstUse: trustOnFirstUseFlag,
  ...policyFlags,
  credentialFile: credentialFileFlag,
  host: hostFlag(LOOPBACK),
  port: portFlag(String(DEFAULT_CONNECTOR_PORT)),
  release: Flag.Literals("release", ["streaming", "verified"]).pipe(
    Flag.withDescription("Pass streams on as they arrive, or each in one piece after verification (default streaming)"),
    Flag.withDefault("streaming"),
  ),
  provider: optionalFlag(
    "provider",
    "name",
    "Provider of the proxy that must serve every request, such as provider1 (default any)",
    Schema.String,
  ),
  receipts: optionalFlag(
    "receipts",
    "folder",
    "Folder for the signed statements of each answer, one file each, for `sealgate verify`, with --policy also the " +
      "evidence of the code; prompts and answers are not included (default: nothing is kept)",
    Schema.String,
  ),
  evidence: switchFlag(
    "evidence",
    "With --receipts: keep prompts and answers too, with the data that proves them to others",
  ),
  allowRemote: switchFlag(
    "allow-remote",
    "Let --host be reachable from other machines: anyone who can connect can send requests, in plaintext",
  ),
  allowHost: valueFlag(
    "allow-host",
    "host",
    "Host name to accept beside localhost; may be repeated",
    Schema.String,
  ).pipe(Flag.atLeast(0)),
  json: jsonFlag("Log lines as JSON; the default unless standard output is a terminal"),
  logLevel: logLevelFlag("info"),
}

/** Logs the key that signed the first verified answer, once, so that it can be pinned. */
const trusting = () => {
  let logged = false
  return ({ receipt }: { readonly receipt: { readonly iss: string } }) =>
    Effect.suspend(() => {
      if (logged) return Effect.void
      logged = true
      return Effect.logWarning(`trusting ${receipt.iss} because it answered first; pin it with --pin ${receipt.iss}`)
    })
}

export const connectCommand = Command.make(
  "connect",
  flags,
  Effect.fn(function* (input) {
    const { pins, proxy } = yield* trustedProxy(input)
    const host = Option.getOrElse(input.host, () => LOOPBACK)
    const port = Option.getOrElse(input.port, () => DEFAULT_CONNECTOR_PORT)
    if (!isLoopback(host) && !input.allowRemote) {
      return yield* unusable(
        `${host} can be reached from other machines, which would send prompts in plaintext. ` +
          "Listen on 127.0.0.1, or pass --allow-remote to accept that.",
      )
    }
    if (input.evidence && Option.isNone(input.receipts)) {
      return yield* unusable("--evidence needs a folder to write to; give --receipts too.")
    }
    const settings: ConnectorSettings = {
      host,
      port,
      allowedHosts: input.allowHost,
      sealed: {
        baseUrl: proxy,
        pins,
        trustOnFirstUse: input.trustOnFirstUse,
        release: input.release,
        ...(yield* policyFrom(input)),
        ...(yield* credentialFrom(input.credentialFile)),
        ...givenOf({ provider: input.provider }),
      },
      ...(Option.isNone(input.receipts)
        ? {}
        : { receipts: { folder: input.receipts.value, evidence: input.evidence } }),
      ...(pins.length > 0 || !input.trustOnFirstUse ? {} : { onVerified: trusting() }),
    }
    const logging = {
      logLevel: Option.getOrElse(input.logLevel, () => "info" as const),
      logFormat: input.json ? ("json" as const) : undefined,
    }
    const { serveConnector } = yield* Effect.promise(() => import("./serveConnector.ts"))
    return yield* serveConnector(settings, logging)
  }),
).pipe(
  withHelp({
    summary: "Run a local endpoint that seals requests of OpenAI and Anthropic clients",
    description: `Runs an endpoint on this machine that speaks OpenAI's and Anthropic's APIs, for programs whose base URL can be changed,
such as coding agents. It seals every request to a proxy and verifies every answer. It serves Chat Completions,
Responses, Embeddings, Messages and the list of models. Requests that cannot be sealed are refused, never passed on.
API keys that programs send are ignored.

It needs a pin, a policy or --trust-on-first-use, and --allow-remote to listen beyond this machine.`,
    examples: [
      ["sealgate connect --proxy https://proxy.example.com --pin <pin>", "On port 8787 of this machine"],
      [
        "sealgate connect --proxy http://localhost:3001 --pin <pin> \\\n    --receipts ./receipts",
        "Keep a receipt of every answer",
      ],
      [
        "sealgate connect --proxy http://localhost:3001 --pin <pin> \\\n    --release verified",
        "Release only completely verified answers",
      ],
    ],
    environment: ENVIRONMENT,
    exits: SERVER_EXITS,
    next:
      `For programs, set OPENAI_BASE_URL=http://127.0.0.1:${DEFAULT_CONNECTOR_PORT}/v1 and any OPENAI_API_KEY; or ` +
      `ANTHROPIC_BASE_URL=http://127.0.0.1:${DEFAULT_CONNECTOR_PORT} and any ANTHROPIC_API_KEY. ` +
      "Check a kept file: `sealgate verify receipts/<file> --pin <pin>`.",
  }),
)
