/** Settings of clients, which stand for the flags of client commands. */
import { Redacted, Schema } from "effect"
import { parsed, SecretText, ServerUrlText } from "./codecs.ts"
import { optionalSetting } from "./Setting.ts"
import { PinsText } from "./upstreamSettings.ts"

/** A whole `Authorization` value or a bare token: visible ASCII in one line, as a header needs. */
const CredentialText = parsed(
  Schema.Redacted(Schema.String),
  (text) => (/^[\x20-\x7e]+$/.test(text) ? Redacted.make(text) : undefined),
  "a key or token of visible ASCII characters, in one line",
)

export const clientSettings = {
  proxy: optionalSetting(
    "SEALGATE_PROXY",
    ServerUrlText,
    "URL of the sealed proxy, as in --proxy. Default: port 3001 of this machine",
  ),
  pin: optionalSetting("SEALGATE_PIN", PinsText, "Pins of the proxy, as in --pin, separated by commas"),
  credential: optionalSetting(
    "SEALGATE_CREDENTIAL",
    CredentialText,
    "Your key or token for the proxy, if it requires one (see also --credential-file)",
  ),
  gateway: optionalSetting(
    "SEALGATE_GATEWAY",
    ServerUrlText,
    "URL of the gateway, as in --gateway. Default: port 3000 of this machine",
  ),
  token: optionalSetting(
    "SEALGATE_TOKEN",
    SecretText,
    "Your bearer token for the gateway: `sealgate gateway --dev` prints one, `sealgate token` mints one",
  ),
}
