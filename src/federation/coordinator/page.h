/* The live page, embedded at build (src/federation/coordinator/embed). */
#ifndef FPLT_FEDERATION_PAGE_H
#define FPLT_FEDERATION_PAGE_H

extern const char fplt__page_html[], fplt__page_script[], fplt__page_chart[];

#endif
