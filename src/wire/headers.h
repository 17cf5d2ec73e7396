/* Names of the HTTP headers of the federation's protocol. */
#ifndef FPLT_WIRE_HEADERS_H
#define FPLT_WIRE_HEADERS_H

#define FPLT__SESSION_HEADER "Fedplt-Session" /* of a request: session and sequence number */
#define FPLT__PROOF_HEADER   "Fedplt-Proof"   /* of an answer: fplt__proof_text */

#endif
