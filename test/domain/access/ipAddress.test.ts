import { assert, it } from "@effect/vitest"
import { subscriberOf } from "../../../src/domain/access/ipAddress.ts"

it("subscriberOf returns an IPv4 address itself and the /64 of an IPv6 address, in any notation", () => {
  assert.strictEqual(subscriberOf("192.0.2.7"), "192.0.2.7")
  assert.strictEqual(subscriberOf("::ffff:192.0.2.7"), "192.0.2.7")
  assert.strictEqual(subscriberOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64")
  assert.strictEqual(subscriberOf("2001:0DB8:0001:0002::1"), "2001:db8:1:2::/64")
  assert.notStrictEqual(subscriberOf("2001:db8:1:3::1"), subscriberOf("2001:db8:1:2::1"))
  assert.strictEqual(subscriberOf("::1"), "::/64")
  assert.strictEqual(subscriberOf("unknown"), "unknown")
})
