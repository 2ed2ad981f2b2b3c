/** Opens requests (hex and JSON) with a key in plain storage, overwrites the result, and stays alive. */
import { X25519 } from "../../src/domain/protocol/suites.ts"
import { responseExportContext } from "../../src/domain/protocol/transcript.ts"
import { hpkeOpen } from "../../src/services/sealing/Hpke.ts"
import { plainStorage } from "../../src/services/sealing/PlainStorage.ts"
import { recipientKey } from "../../src/services/sealing/recipientKeys.ts"

const own = (hex: string) => new Uint8Array(Buffer.from(hex, "hex"))
const [secret = "", requests = ""] = process.argv.slice(2)
const key = recipientKey(X25519, plainStorage(), own(secret))
for (const { aad, ciphertext, enc, info } of JSON.parse(requests) as ReadonlyArray<Record<string, string>>) {
  const opened = hpkeOpen({
    key,
    enc: own(enc ?? ""),
    info: own(info ?? ""),
    aad: own(aad ?? ""),
    ciphertext: own(ciphertext ?? ""),
    exportContext: responseExportContext,
  })
  opened.plaintext.fill(0)
  opened.secret.fill(0)
}
process.stdout.write("opened\n")
setInterval(() => undefined, 60_000)
