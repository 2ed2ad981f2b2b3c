/** The sender's part of a KEM (RFC 9180 §4). `ekm` fixes the ephemeral key, for published test vectors only. */
export interface SenderKem {
  readonly deserializePublicKey: (key: Uint8Array) => Promise<CryptoKey>
  readonly encap: (to: {
    readonly recipientPublicKey: CryptoKey
    readonly ekm?: Uint8Array<ArrayBuffer>
  }) => Promise<{ readonly sharedSecret: ArrayBuffer; readonly enc: ArrayBuffer }>
}
