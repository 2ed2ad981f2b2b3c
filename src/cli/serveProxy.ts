/** `sealgate proxy`, loaded on demand because it imports the whole server. */
import { existsSync } from "node:fs"
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { proxySettings } from "../layers/config/proxySettings.ts"
import { findSettings } from "../layers/config/Setting.ts"
import { type ProxySettings, SealedProxy } from "../layers/Proxy.ts"
import { Attestation } from "../services/sealing/Attestation.ts"
import { KeyFileError } from "../services/sealing/AttestationKeyFile.ts"
import { KeyVault } from "../services/sealing/KeyVault.ts"
import { announceServer } from "./announceServer.ts"
import { givenOf, type ServerFlags } from "./flags.ts"
import { layerWithoutPretenuring } from "./pretenuring.ts"
import { layerLastResort } from "./runUntilSignal.ts"

/** Requires a named key file to exist: with a mistyped path, the proxy would create an identity that clients refuse. */
const requireNamedKey = Effect.fnUntraced(function* ({ attestationKeyFile }: ProxySettings) {
  const [key] = yield* findSettings([proxySettings.attestationKeyFile])
  if (key?.from === undefined || existsSync(attestationKeyFile)) return
  return yield* new KeyFileError({
    path: attestationKeyFile,
    problem: `there is no such file, which ${proxySettings.attestationKeyFile.variable} names`,
    remedy: "Check the path, or create a key there with `sealgate keygen`.",
  })
})

/** Logs addresses, identity and providers once the proxy listens. */
const announce = Effect.fnUntraced(function* (settings: ProxySettings) {
  const server = yield* HttpServer.HttpServer
  const attestation = yield* Attestation
  const vault = yield* KeyVault
  const address = NetAddress.isInetAddress(server.address) ? NetAddress.formatInet(server.address) : "a socket"
  yield* Effect.logInfo(`sealed proxy listening on ${address}`)
  yield* Effect.logInfo(
    `identity to pin: ${attestation.kid}${attestation.created ? " (new: the key was just created)" : ""}`,
  )
  yield* announceServer(proxySettings, {
    providersAnd: `keys in ${vault.kind} memory`,
    console: settings.console ? `/console#pin=${attestation.kid}` : undefined,
  })
})

export const serveProxy = Effect.fnUntraced(function* (flags: ServerFlags) {
  const settings = yield* SealedProxy.settings(givenOf(flags))
  yield* requireNamedKey(settings)
  const extras = Layer.mergeAll(
    Layer.effectDiscard(announce(settings)),
    layerLastResort(settings.shutdownGrace),
    layerWithoutPretenuring,
  )
  return yield* Layer.launch(SealedProxy.layerWith(settings, extras))
})
