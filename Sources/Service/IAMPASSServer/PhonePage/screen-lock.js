// The phone's own screen lock, by WebAuthn: a platform authenticator that verifies its user.
import "./shared.js";

const { base64, base64url, fromBase64url, sha256, text, canonicalBytes } = globalThis.iampass;

/** Milliseconds that the user has to unlock the phone: as long as a request waits. */
const patience = 60_000;
const es256 = -7;

/** Whether this browser can ask for the phone's screen lock. WebAuthn does not work at an IP address. */
export async function isThere() {
  if (!window.PublicKeyCredential || /^[\d.]+$|^\[/.test(location.hostname)) return false;
  return PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable().catch(() => false);
}

/**
 * Makes a credential; needs a tap. Rejects if the user declines.
 *
 * @param subject the code of a registration, or the nonce of a later statement
 * @param publicKey this phone's, which the credential is tied to
 */
export async function create(user, application, subject, publicKey) {
  const challenge = await sha256(text.encode(`iampass credential 1\n${subject}\n${publicKey}`));
  const credential = await navigator.credentials.create({
    publicKey: {
      challenge,
      rp: { name: "IAMPASS", id: location.hostname },
      user: { id: crypto.getRandomValues(new Uint8Array(32)), name: user, displayName: `${user} (${application})` },
      pubKeyCredParams: [{ type: "public-key", alg: es256 }],
      authenticatorSelection: {
        authenticatorAttachment: "platform", userVerification: "required", residentKey: "discouraged",
      },
      attestation: "none",
      timeout: patience,
    },
  });
  const response = credential.response;
  return {
    id: base64url(credential.rawId),
    public_key: base64(response.getPublicKey()),
    authenticator_data: base64url(response.getAuthenticatorData()),
    client_data: base64url(response.clientDataJSON),
  };
}

/** Asks the user to unlock the phone for this statement only. */
export async function assertion(credential, statement) {
  const given = await navigator.credentials.get({
    publicKey: {
      challenge: await sha256(canonicalBytes(statement)),
      rpId: location.hostname,
      allowCredentials: [{ type: "public-key", id: fromBase64url(credential), transports: ["internal"] }],
      userVerification: "required",
      timeout: patience,
    },
  });
  return {
    authenticator_data: base64url(given.response.authenticatorData),
    client_data: base64url(given.response.clientDataJSON),
    signature: base64url(given.response.signature),
  };
}
