import type { AcceptedConfiguration } from "../../../src/attestation/policy.ts"

/** A configuration as the proxy attests it. */
export const CONFIGURATION = {
  software: "sealgate/0.1.0",
  software_digest: "A".repeat(43),
  providers: [{ slot: "provider1", vendor: "OpenAI", base_url: "https://api.openai.com/v1", sealed_pins: null }],
  extra_ca: null,
  outgoing_proxies: { http: null, https: null, except: null },
  telemetry: [],
  asks_for_credentials: false,
  redis: false,
  node: { version: "v26.0.0", flags: ["--disable-sigusr1"] },
  key_storage: "memory",
}

/** Allows exactly {@link CONFIGURATION}. */
export const ACCEPTED_CONFIGURATION: AcceptedConfiguration = {
  software: [{ version: "sealgate/0.1.0", digest: "A".repeat(43) }],
  providers: [{ vendor: "OpenAI", base_url: "https://api.openai.com/v1", sealed_pins: null }],
  outgoing_proxies: [],
  telemetry: "none",
  extra_ca: [],
  node: { versions: ["v26.0.0"], flags: ["--disable-sigusr1"] },
  key_storage: ["memory"],
}
