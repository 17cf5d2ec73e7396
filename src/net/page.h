/* The live page, embedded at build (src/net/embed). */
#ifndef FPLT_NET_PAGE_H
#define FPLT_NET_PAGE_H

extern const char fplt__page_html[], fplt__page_script[], fplt__page_chart[];

#endif
