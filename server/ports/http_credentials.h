// Reads the credentials that the client of an HTTP request has presented.
#ifndef FRESHET_SERVER_PORTS_HTTP_CREDENTIALS_H_
#define FRESHET_SERVER_PORTS_HTTP_CREDENTIALS_H_

#include "server/auth/authoriser.h"
#include "server/ports/http_message.h"

namespace freshet {

// Thread-safe.
[[nodiscard]] Credentials CredentialsOf(const HttpRequest& request);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_HTTP_CREDENTIALS_H_
