/** What clients of a proxy and of a gateway may be told once, in place of a flag each time. */
import { Redacted, Schema } from "effect"
import { parsed, SecretText, UrlText } from "./codecs.ts"
import { optionalSetting } from "./Setting.ts"
import { PinsText } from "./upstreamSettings.ts"

/** A whole value of `Authorization`, or a token alone. A header carries neither line breaks nor anything beyond ASCII. */
const CredentialText = parsed(
  Schema.Redacted(Schema.String),
  (text) => (/^[\x20-\x7e]+$/.test(text) ? Redacted.make(text) : undefined),
  "a key or token of visible ASCII characters, in one line",
)

export const clientSettings = {
  proxy: optionalSetting(
    "SEALGATE_PROXY",
    UrlText,
    "Where the sealed proxy is, as --proxy has it; default: on this machine, port 3001",
  ),
  pin: optionalSetting("SEALGATE_PIN", PinsText, "Pins of the proxy, as --pin has them, with commas between them"),
  credential: optionalSetting(
    "SEALGATE_CREDENTIAL",
    CredentialText,
    "The key or token by which the proxy knows you, if it asks for one (see also --credential-file)",
  ),
  gateway: optionalSetting(
    "SEALGATE_GATEWAY",
    UrlText,
    "Where the gateway is, as --gateway has it; default: on this machine, port 3000",
  ),
  token: optionalSetting(
    "SEALGATE_TOKEN",
    SecretText,
    "Your bearer token for the gateway: `sealgate gateway --dev` prints one, `sealgate token` makes one",
  ),
}
