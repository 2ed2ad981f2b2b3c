import { assert, describe, it } from "@effect/vitest"
import { IpNetwork } from "effect/net"
import { mayConnect } from "../../../src/domain/access/publicAddress.ts"

const PUBLIC = ["1.1.1.1", "93.184.215.14", "::ffff:1.1.1.1", "2606:4700:4700::1111", "192.0.1.1", "172.32.0.1"]

const NOT_PUBLIC = `0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1
  192.168.1.1 198.18.0.1 203.0.113.9 224.0.0.1 255.255.255.255 :: ::1 ::ffff:10.0.0.1 fe80::1 fc00::1 ff02::1
  64:ff9b::a00:1 2002:a00:1:: 2001::1 2001:db8::1 example.com`.split(/\s+/)

describe("mayConnect", () => {
  it("allows https to public addresses only", () => {
    for (const address of PUBLIC) assert.isTrue(mayConnect("https:", address, []), address)
    for (const address of NOT_PUBLIC) assert.isFalse(mayConnect("https:", address, []), address)
  })

  it("allows http to networks of the operator only", () => {
    const allowed = [IpNetwork.fromStringUnsafe("10.1.0.0/16")]
    assert.isTrue(mayConnect("http:", "10.1.2.3", allowed))
    assert.isTrue(mayConnect("https:", "::ffff:10.1.2.3", allowed))
    assert.isFalse(mayConnect("http:", "10.2.0.1", allowed))
    assert.isFalse(mayConnect("http:", "1.1.1.1", allowed))
  })
})
