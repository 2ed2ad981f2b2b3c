/** Digests by which evidence of this release is recognized. */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { SOFTWARE } from "../../domain/operations/software.ts"
import { fileReason } from "../../domain/problems/systemErrors.ts"
import { digestOfSoftware, packageFolder } from "../../layers/evidence/softwareDigest.ts"
import { unusable } from "../CommandFailed.ts"

const COMPOSE = "deploy/dstack/compose.yaml"
/** Placeholder for the image in the compose file. */
const PLACEHOLDER = `registry.example.com/sealgate@sha256:${"0".repeat(64)}`

/** The app-compose of dstack (its SDK's type `AppCompose`) around a compose file. Its exact bytes are measured. */
const appComposeOf = (compose: string): string =>
  JSON.stringify({
    manifest_version: 2,
    name: "sealgate",
    runner: "docker-compose",
    docker_compose_file: compose,
    kms_enabled: true,
    gateway_enabled: true,
    local_key_provider_enabled: false,
    public_logs: false,
    public_sysinfo: false,
    allowed_envs: ["PROVIDER1_API_KEY"],
    no_instance_id: false,
    secure_time: true,
  })

/** `image`: with its registry and digest. */
export const expectedOf = (image: string) =>
  Effect.try({
    try: () => {
      const compose = readFileSync(join(packageFolder(), COMPOSE), "utf8").replaceAll(PLACEHOLDER, image)
      const appCompose = appComposeOf(compose)
      return {
        software: SOFTWARE,
        software_digest: digestOfSoftware(),
        image_digest: image.slice(image.indexOf("@") + 1),
        compose_hash: createHash("sha256").update(appCompose).digest("hex"),
        app_compose: appCompose,
      }
    },
    catch: (error) => unusable(`The release's files cannot be read: ${fileReason(error)}.`),
  })
