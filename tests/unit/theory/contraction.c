/* Contraction factors and the matrix S: against brute force, identities, and the counterexamples
 * to what is printed. */
#include "theory/simulation.h"
#include "theory/theory.h"

#include <lapacke.h>

static double between(fplt_stream *stream, double low, double high)
{
    return low * pow(high / low, fplt_stream_uniform(stream));
}

static fplt_theory_problem any_problem(fplt_stream *stream)
{
    double low = between(stream, 1e-3, 1e2);
    return (fplt_theory_problem){low, low * between(stream, 1.0001, 1e5), 10, 5};
}

static fplt_theory_parameters any_parameters(const fplt_theory_problem *problem,
                                             fplt_stream *stream)
{
    fplt_theory_parameters p = fplt_theory_defaults(problem);
    p.rho *= between(stream, 1e-2, 1e2);
    p.step = fplt__theory_step_limit(problem, p.rho, FPLT_THEORY_CORRECTED) *
             between(stream, 0.05, 0.9999);
    p.epochs = 1 + (uint32_t)fplt_stream_below(stream, 200);
    p.accelerated = fplt_stream_uniform(stream) < 0.3;
    return p;
}

/* zeta and chi are suprema over quadratics: look at very many curvatures. */
static void factors_are_suprema_over_curvatures(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int trial = 0; trial < 300; trial++) {
        fplt_theory_problem problem = any_problem(&stream);
        fplt_theory_parameters p = any_parameters(&problem, &stream);
        double zeta = 0, chi = 0;
        for (int i = 0; i <= 1000; i++) {
            double l = problem.strong_convexity +
                       (problem.smoothness - problem.strong_convexity) * i / 1000.0;
            zeta = fmax(zeta, fabs(2 / (1 + p.rho * l) - 1)); /* reflection of the prox */
            chi = fmax(chi, fabs(1 - p.step * (l + 1 / p.rho)));
        }
        assert_near(fplt__theory_splitting_contraction(&problem, p.rho), zeta, 1e-12);
        assert_near(fplt__theory_step_contraction(&problem, p.rho, p.step), chi, 1e-12);
        /* the best step beats its neighbours, the limit is where contraction ends */
        double best = fplt_theory_best_step(&problem, p.rho);
        double least = fplt__theory_step_contraction(&problem, p.rho, best);
        assert_true(least <= fplt__theory_step_contraction(&problem, p.rho, best * 1.001));
        assert_true(least <= fplt__theory_step_contraction(&problem, p.rho, best * 0.999));
        double limit = fplt__theory_step_limit(&problem, p.rho, FPLT_THEORY_CORRECTED);
        assert_true(fplt__theory_step_contraction(&problem, p.rho, limit * (1 - 1e-9)) < 1);
        assert_true(fplt__theory_step_contraction(&problem, p.rho, limit * (1 + 1e-9)) > 1);
    }
}

static void lapack_norms(const double entry[2][2], double *radius, double *norm)
{
    double a[4] = {entry[0][0], entry[0][1], entry[1][0], entry[1][1]}, b[4];
    double re[2], im[2], singular[2], super[2];
    /* under valgrind LAPACK loses digits where entries span 150 powers of ten; these do not count */
    for (int i = 0; i < 4; i++)
        a[i] = fabs(a[i]) < 1e-100 ? 0 : a[i];
    memcpy(b, a, sizeof b);
    assert_int_equal(LAPACKE_dgeev(LAPACK_ROW_MAJOR, 'N', 'N', 2, a, 2, re, im, NULL, 1, NULL, 1),
                     0);
    assert_int_equal(LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'N', 2, 2, b, 2, singular, NULL, 1, NULL,
                                    1, super),
                     0);
    *radius = fmax(hypot(re[0], im[0]), hypot(re[1], im[1]));
    *norm = singular[0];
}

static void norms_of_the_matrix_agree_with_lapack(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(2, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int trial = 0; trial < 2000; trial++) {
        fplt_theory_problem problem = any_problem(&stream);
        fplt_theory_parameters p = any_parameters(&problem, &stream);
        for (int v = 0; v < 2; v++) {
            fplt_theory_matrix s = fplt__theory_matrix_make(&problem, &p, (fplt__theory_version)v);
            double radius, norm;
            lapack_norms(s.entry, &radius, &norm);
            assert_near(s.radius, radius, 1e-12 * (norm + 1));
            assert_near(s.norm, norm, 1e-12 * (norm + 1));
            double trace = s.entry[0][0] + s.entry[1][1];
            assert_near(s.eigenvalue[0] + s.eigenvalue[1], trace, 1e-12 * (1 + fabs(trace)));
        }
    }
}

static void the_weight_turns_the_radius_into_a_norm(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
    int tiny = 0;
    for (int trial = 0; trial < 2000; trial++) {
        fplt_theory_problem problem = any_problem(&stream);
        fplt_theory_parameters p = any_parameters(&problem, &stream);
        fplt_theory_matrix s = fplt__theory_matrix_make(&problem, &p, FPLT_THEORY_CORRECTED);
        double w = fplt__theory_weight(&problem, &p), norm = fplt__theory_weighted_norm(&s, w);
        double local = fplt__theory_local_contraction(&problem, &p, FPLT_THEORY_CORRECTED);
        /* the norm once more, through LAPACK */
        double scaled[2][2] = {{s.entry[0][0], s.entry[0][1] / w},
                               {s.entry[1][0] * w, s.entry[1][1]}};
        double radius, expected;
        lapack_norms(scaled, &radius, &expected);
        assert_near(norm, expected, 1e-12 * (1 + expected));
        assert_true(norm >= s.radius * (1 - 1e-14));
        if (local >= 1e-12) {
            assert_near(norm, s.radius, 1e-13 * (1 + norm));
            assert_close(w * w, (1 + local) / (2 * local * (1 + p.rho * problem.strong_convexity)),
                         1e-13);
            continue;
        }
        tiny++;
        assert_true(isfinite(w) && w <= 1e6);
        /* a hair above the radius: S grows by the order of 1e-12, its root at the worst */
        assert_near(norm, s.radius, 2e-6);
    }
    assert_true(tiny > 20);
}

/* The characteristic polynomial of S at 1. Corrected, it is above 0 exactly when S is stable: with
 * chi^Ne >= 1 and zeta < 1 it is not positive, and otherwise the determinant is below 1, so that both
 * roots cannot exceed 1. Printed, the paper's condition is the wrong way round. */
static double stability_margin(const fplt_theory_problem *problem, const fplt_theory_parameters *p,
                               fplt__theory_version version)
{
    double local = fplt__theory_local_contraction(problem, p, version);
    double zeta = fplt__theory_splitting_contraction(problem, p->rho);
    double l = problem->strong_convexity;
    double beta = 1 / (version == FPLT_THEORY_PRINTED ? l + 1 / p->rho : 1 + p->rho * l);
    if (zeta >= 1 || !isfinite(local))
        return -HUGE_VAL;
    double margin = (1 - zeta) * (1 - local) - 4 * local * beta;
    return version == FPLT_THEORY_PRINTED ? -margin : margin;
}

static void the_margin_decides_stability(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(4, 0, FPLT_FOR_TEST, 0, 0, 0);
    int stable = 0, unstable = 0;
    for (int trial = 0; trial < 5000; trial++) {
        fplt_theory_problem problem = any_problem(&stream);
        fplt_theory_parameters p = any_parameters(&problem, &stream);
        if (trial % 5 == 0)
            p.step *= 3; /* mostly beyond the limit */
        for (int v = 0; v < 2; v++) {
            fplt__theory_version version = (fplt__theory_version)v;
            double margin = stability_margin(&problem, &p, version);
            double radius = fplt__theory_matrix_make(&problem, &p, version).radius;
            if (fabs(margin) < 1e-9 || fabs(radius - 1) < 1e-9)
                continue;
            /* the printed inequality says the opposite of the truth about its own matrix */
            assert_int_equal(margin > 0, version == FPLT_THEORY_PRINTED && isfinite(margin)
                                             ? radius > 1
                                             : radius < 1);
            stable += radius < 1;
            unstable += radius > 1;
        }
    }
    assert_true(stable > 500 && unstable > 500);
}

static void printed_equals_corrected_at_rho_one(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(5, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int trial = 0; trial < 200; trial++) {
        fplt_theory_problem problem = any_problem(&stream);
        fplt_theory_parameters p = any_parameters(&problem, &stream);
        p.rho = 1;
        p.accelerated = 0;
        p.step = fplt_theory_best_step(&problem, 1);
        fplt_theory_matrix a = fplt__theory_matrix_make(&problem, &p, FPLT_THEORY_CORRECTED);
        fplt_theory_matrix b = fplt__theory_matrix_make(&problem, &p, FPLT_THEORY_PRINTED);
        assert_memory_equal(&a, &b, sizeof a);
        p.rho = 0.5;
        a = fplt__theory_matrix_make(&problem, &p, FPLT_THEORY_CORRECTED);
        b = fplt__theory_matrix_make(&problem, &p, FPLT_THEORY_PRINTED);
        assert_close(b.entry[0][1], a.entry[0][1] / 2, 1e-14);
    }
}

/* At rho = 1/sqrt(lmin lmax) the plain norm tends, with ever more epochs, to a limit that is below
 * 1 exactly for condition numbers below 16. */
static void the_plain_norm_fails_from_condition_number_sixteen(void **state)
{
    (void)state;
    const double condition[] = {2, 10, 15.9, 16.1, 50, 1e4};
    for (int i = 0; i < 6; i++) {
        fplt_theory_problem problem = {3, 3 * condition[i], 10, 5};
        fplt_theory_parameters p = fplt_theory_defaults(&problem);
        p.epochs = 100000;
        double norm = fplt__theory_matrix_make(&problem, &p, FPLT_THEORY_CORRECTED).norm;
        assert_int_equal(norm < 1, condition[i] < 16);
        assert_true(fplt__theory_matrix_make(&problem, &p, FPLT_THEORY_CORRECTED).radius < 1);
    }
}

/* One agent, f(x) = lmin x^2/2, x_0 = x*, z_0 off by 1: after one round with many epochs
 * x_1 = z_0/(1 + rho lmin), which for rho < 1 exceeds the printed entry, rho/(1 + rho lmin). */
static void printed_matrix_is_violated_for_small_rho(void **state)
{
    (void)state;
    const double rhos[] = {0.05, 0.1, 0.3, 0.7};
    for (int i = 0; i < 4; i++) {
        struct federation f = {.agents = 1, .dimension = 1, .low = 1, .high = 2};
        f.hessian[0][0][0] = 1;
        fplt_theory_problem problem = problem_of(&f);
        fplt_theory_parameters p = fplt_theory_defaults(&problem);
        p.rho = rhos[i];
        p.step = fplt_theory_best_step(&problem, p.rho);
        p.epochs = 40;
        f.z[0][0] = 1;
        one_round(&f, &p, NULL, NULL);
        double x, z;
        errors_of(&f, &x, &z);
        fplt_theory_matrix printed = fplt__theory_matrix_make(&problem, &p, FPLT_THEORY_PRINTED);
        fplt_theory_matrix right = fplt__theory_matrix_make(&problem, &p, FPLT_THEORY_CORRECTED);
        assert_true(x > 1.2 * printed.entry[0][1]);
        assert_true(hypot(x, z) > printed.norm * 1.02);
        double slack = 1 + 1e-12; /* equality is nearly reached */
        assert_true(x <= slack * right.entry[0][1] && z <= slack * right.entry[1][1]);
        assert_true(hypot(x, z) <= slack * right.norm);
        /* and the printed claim is not empty: it promises a contraction */
        if (rhos[i] < 0.5)
            assert_true(printed.norm < 1);
    }
}

/* The printed step range lets local training diverge. */
static void printed_step_range_diverges(void **state)
{
    (void)state;
    fplt_theory_problem problem = {1, 10, 1, 1};
    double step = 0.5 * fplt__theory_step_limit(&problem, 1, FPLT_THEORY_PRINTED);
    assert_true(step > fplt__theory_step_limit(&problem, 1, FPLT_THEORY_CORRECTED));
    assert_true(fabs(1 - step * (10 + 1)) > 1);
}

/* |w_Ne - w*| / |w_0 - w*| of accelerated steps on d with curvature a between m and M. */
static double accelerated_on_quadratic(double m, double M, double a, unsigned epochs)
{
    double momentum = (sqrt(M) - sqrt(m)) / (sqrt(M) + sqrt(m)), w = 1, u = 1;
    for (unsigned step = 0; step < epochs; step++) {
        double next = w - a * w / M;
        w = next + momentum * (next - u);
        u = next;
    }
    return fabs(w);
}

static void printed_accelerated_contraction_is_violated(void **state)
{
    (void)state;
    fplt_theory_problem problem = {1, 3, 1, 1};
    fplt_theory_parameters p = fplt_theory_defaults(&problem);
    p.rho = 1; /* m = 2, M = 4: kappa' = 2 */
    p.accelerated = 1;
    for (p.epochs = 1; p.epochs <= 40; p.epochs++) {
        double worst = 0;
        for (int i = 0; i <= 1000; i++)
            worst = fmax(worst, accelerated_on_quadratic(2, 4, 2 + 2 * i / 1000.0, p.epochs));
        double printed = fplt__theory_local_contraction(&problem, &p, FPLT_THEORY_PRINTED);
        double right = fplt__theory_local_contraction(&problem, &p, FPLT_THEORY_CORRECTED);
        assert_close(right * right, printed, 1e-13);
        assert_int_equal(worst > printed, p.epochs >= 5);
        assert_true(worst <= right);
    }
}

/* Also on costs that are not quadratic, started anywhere. */
static void corrected_accelerated_contraction_holds(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(6, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int trial = 0; trial < 2000; trial++) {
        struct federation f;
        double low = between(&stream, 0.1, 2);
        draw_costs(&f, 1, 2, trial % 2, low, low * between(&stream, 1.01, 200), &stream);
        fplt_theory_problem problem = problem_of(&f);
        fplt_theory_parameters p = fplt_theory_defaults(&problem);
        p.rho *= between(&stream, 0.05, 20);
        p.accelerated = 1;
        double v[MAX_DIMENSION], exact[MAX_DIMENSION] = {0}, w[MAX_DIMENSION];
        for (int j = 0; j < 2; j++)
            v[j] = 2 * fplt_stream_normal(&stream);
        fplt_theory_parameters plain = p;
        plain.accelerated = 0;
        plain.step = fplt_theory_best_step(&problem, p.rho);
        plain.epochs = 5000;
        train(&f, &plain, 0, v, exact, NULL);
        for (int j = 0; j < 2; j++)
            w[j] = exact[j] + 5 * fplt_stream_normal(&stream);
        double first = hypot(w[0] - exact[0], w[1] - exact[1]);
        p.epochs = 1 + (uint32_t)fplt_stream_below(&stream, 30);
        train(&f, &p, 0, v, w, NULL);
        double factor = fplt__theory_local_contraction(&problem, &p, FPLT_THEORY_CORRECTED);
        assert_true(hypot(w[0] - exact[0], w[1] - exact[1]) <= factor * first + 1e-12 * first);
    }
}

static void extremes_stay_without_nan(void **state)
{
    (void)state;
    fplt_theory_problem problem = {1, 1, 1, 1}; /* condition number 1: everything is exact */
    fplt_theory_parameters p = fplt_theory_defaults(&problem);
    fplt_theory_matrix s = fplt__theory_matrix_make(&problem, &p, FPLT_THEORY_CORRECTED);
    assert_near(s.radius, 0, 1e-15);
    assert_true(isfinite(fplt__theory_weight(&problem, &p)));
    assert_true(fplt__theory_weighted_norm(&s, fplt__theory_weight(&problem, &p)) < 1e-5);
    p.accelerated = 1;
    assert_near(fplt__theory_local_contraction(&problem, &p, FPLT_THEORY_CORRECTED), 0, 0);

    problem = (fplt_theory_problem){1, 100, 1, 1};
    p = fplt_theory_defaults(&problem);
    p.step = 1e6; /* chi^Ne overflows */
    p.epochs = 1000;
    s = fplt__theory_matrix_make(&problem, &p, FPLT_THEORY_CORRECTED);
    assert_true(s.radius == HUGE_VAL && s.norm == HUGE_VAL);
    assert_true(fplt__theory_weighted_norm(&s, fplt__theory_weight(&problem, &p)) == HUGE_VAL);

    problem.strong_convexity = -2; /* prox of a non-convex cost that is not even defined */
    p = fplt_theory_defaults(&problem);
    p.rho = 1;
    s = fplt__theory_matrix_make(&problem, &p, FPLT_THEORY_CORRECTED);
    assert_true(s.radius == HUGE_VAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_are_suprema_over_curvatures),
        cmocka_unit_test(norms_of_the_matrix_agree_with_lapack),
        cmocka_unit_test(the_weight_turns_the_radius_into_a_norm),
        cmocka_unit_test(the_margin_decides_stability),
        cmocka_unit_test(printed_equals_corrected_at_rho_one),
        cmocka_unit_test(the_plain_norm_fails_from_condition_number_sixteen),
        cmocka_unit_test(printed_matrix_is_violated_for_small_rho),
        cmocka_unit_test(printed_step_range_diverges),
        cmocka_unit_test(printed_accelerated_contraction_is_violated),
        cmocka_unit_test(corrected_accelerated_contraction_holds),
        cmocka_unit_test(extremes_stay_without_nan),
    };
    return cmocka_run_group_tests_name("contraction", tests, NULL, NULL);
}
